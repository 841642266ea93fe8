"""Problems of a cluster are in its status and once in an Event; all else continues."""

import pytest

from loop_rig import CLUSTER, EVENTS, NAMESPACE, SET, Rig
from partisan_operator.api.errors import KubeError


async def test_a_rejected_scale_down_is_reported_once_and_changes_nothing(rig: Rig) -> None:
    await rig.converge()
    edges = {"kind": "Static", "static": {"edges": [[0, 0], [1, 1]]}}
    rig.change({"replicas": 2, "overlay": edges})
    children = {path: item for path, item in rig.api.objects.items() if path != CLUSTER}
    for _ in range(2):
        assert await rig.reconcile() == rig.tools.settings.active_period
    assert children.items() <= rig.api.objects.items()
    assert rig.nodes.configured == []
    assert rig.events()[-1] == "ScaleDownRefused"
    assert rig.events().count("ScaleDownRefused") == 1
    assert rig.status["phase"] == "Degraded"
    assert rig.condition("Degraded")["reason"] == "ScaleDownRefused"
    progressing = rig.condition("Progressing")
    assert (progressing["status"], progressing["reason"]) == ("False", "ScaleDownRefused")
    rig.api.objects[CLUSTER]["spec"]["overlay"]["static"]["edges"] = [[0, 1]]
    rig.api.objects[CLUSTER]["metadata"]["generation"] = 3
    await rig.reconcile()
    assert rig.api.objects[SET]["spec"]["replicas"] == 2
    assert rig.events()[-2:] == ["Scaled", "Recovered"]


async def test_drift_is_repaired_while_a_scale_down_is_rejected(rig: Rig) -> None:
    await rig.converge()
    edges = {"kind": "Static", "static": {"edges": [[0, 0], [1, 1]]}}
    rig.change({"replicas": 2, "overlay": edges})
    await rig.reconcile()
    service = f"/api/v1{NAMESPACE}/services/ads"
    before = rig.api.objects[service]["spec"], rig.api.objects[SET]["spec"]
    del rig.api.objects[service]
    rig.api.objects[SET]["spec"] = before[1] | {"serviceName": "another"}
    rig.make_resync_due()
    await rig.reconcile()
    assert (rig.api.objects[service]["spec"], rig.api.objects[SET]["spec"]) == before
    assert rig.condition("Degraded")["reason"] == "ScaleDownRefused"
    assert rig.nodes.configured == []


async def test_a_required_pod_monitor_that_is_unavailable_is_reported(
    rig: Rig,
) -> None:
    await rig.converge()
    rig.change({"metrics": {"podMonitor": "Enabled"}})
    for _ in range(2):
        await rig.reconcile()
    assert rig.condition("Degraded")["reason"] == "PodMonitorUnavailable"
    assert "Install the Prometheus operator" in rig.condition("Degraded")["message"]
    assert rig.events().count("PodMonitorUnavailable") == 1
    rig.api.unserved.clear()
    rig.make_resync_due()
    await rig.reconcile()
    await rig.reconcile()
    path = f"/apis/monitoring.coreos.com/v1{NAMESPACE}/podmonitors/ads-nodes"
    assert path in rig.api.objects
    assert rig.status["phase"] == "Converged"
    assert rig.events()[-1] == "Recovered"


async def test_a_foreign_object_is_left_alone_and_reported(rig: Rig) -> None:
    foreign = {"kind": "ConfigMap", "metadata": {"name": "ads-config"}, "data": {"a": "b"}}
    path = f"/api/v1{NAMESPACE}/configmaps/ads-config"
    rig.api.put(path, foreign)
    await rig.reconcile()
    assert rig.api.objects[path]["data"] == {"a": "b"}
    assert SET not in rig.api.objects
    assert rig.condition("Degraded")["reason"] == "NameConflict"


async def test_rejections_of_the_api_server_are_reported(rig: Rig) -> None:
    async def refuse(action: object) -> None:
        raise KubeError(422, "spec.affinity: nonsense")

    rig.tools.kube.apply = refuse  # type: ignore[method-assign]
    await rig.reconcile()
    degraded = rig.condition("Degraded")
    assert degraded["reason"] == "ApplyFailed"
    assert "spec.affinity: nonsense" in degraded["message"]


async def test_an_image_that_cannot_be_pulled_is_reported(rig: Rig) -> None:
    await rig.reconcile()
    rig.bring_up_pods(ready=False)
    waiting = {"name": "node", "state": {"waiting": {"reason": "ErrImagePull", "message": "no"}}}
    pod = {"metadata": {"name": "ads-1"}, "status": {"containerStatuses": [waiting]}}
    rig.api.put(f"/api/v1{NAMESPACE}/pods/ads-1", pod)
    await rig.reconcile()
    assert rig.status["phase"] == "Degraded"
    assert "Pod ads-1" in rig.condition("Degraded")["message"]
    assert rig.events() == ["ImagePullFailed"]


async def test_a_cluster_whose_events_cannot_be_read_has_a_status(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    rig.api.unlisted = {"events": (403, "events is forbidden")}
    await rig.reconcile()
    rig.api.objects[SET]["status"] = {"observedGeneration": 1, "replicas": 0}
    await rig.round()
    assert "default/ads: the cause of pods that are not ready: events is forbidden" in caplog.text
    assert rig.condition("Ready")["reason"] == "NodesMissing"
    assert rig.condition("Degraded")["status"] == "False"


async def test_a_missing_volume_is_named(rig: Rig) -> None:
    await rig.reconcile()
    rig.bring_up_pods(ready=False)
    scheduled = {
        "type": "PodScheduled",
        "status": "True",
        "lastTransitionTime": "2025-12-31T00:00:00Z",
    }
    status = {"phase": "Pending", "conditions": [scheduled]}
    rig.api.put(
        f"/api/v1{NAMESPACE}/pods/ads-1",
        {"metadata": {"name": "ads-1", "uid": "uid-1"}, "status": status},
    )
    message = 'MountVolume.SetUp failed for volume "settings" : configmap "app" not found'
    event = {"metadata": {"name": "a"}, "reason": "FailedMount", "message": message}
    rig.api.put(f"{EVENTS}/a", event)
    await rig.reconcile()
    degraded = rig.condition("Degraded")
    assert degraded["reason"] == "MountFailed"
    assert message in degraded["message"]


async def test_a_problem_is_reported_although_the_last_operator_s_clock_was_ahead(rig: Rig) -> None:
    await rig.reconcile()
    rig.bring_up_pods(ready=False)
    rig.condition("Ready")["lastTransitionTime"] = "2026-01-01T05:00:00Z"
    waiting = {"name": "node", "state": {"waiting": {"reason": "ErrImagePull", "message": "no"}}}
    pod = {"metadata": {"name": "ads-1"}, "status": {"containerStatuses": [waiting]}}
    rig.api.put(f"/api/v1{NAMESPACE}/pods/ads-1", pod)
    await rig.reconcile()
    assert rig.condition("Degraded")["reason"] == "ImagePullFailed"


async def test_pods_that_a_quota_forbids_are_reported_and_retried(rig: Rig) -> None:
    await rig.reconcile()
    rig.api.objects[SET]["status"] = {"observedGeneration": 1, "replicas": 0}
    failure = 'Create Pod ads-0 in StatefulSet ads failed error: pods "ads-0" is forbidden: '
    event = {
        "metadata": {"name": "e"},
        "reason": "FailedCreate",
        "lastTimestamp": "2026-01-01T00:00:05Z",
        "message": f"{failure}exceeded quota: q",
    }
    rig.api.put(f"{EVENTS}/e", event)
    await rig.reconcile()
    assert rig.condition("Degraded")["reason"] == "QuotaExceeded"
    assert "partisan.dev/nudged-at" in rig.api.objects[SET]["metadata"]["annotations"]
