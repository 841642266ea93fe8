"""`pause`, `resume` and `rollout` of the plugin."""

from typing import Any

import pytest

from fake_kubectl import NAMESPACE, FakeKubectl, run
from partisan_operator.children import restored_backup
from partisan_operator.cli.access import CommandError
from partisan_operator.cli.commands import restart, rollout
from partisan_operator.cli.kubectl import KubectlError
from partisan_operator.models import PartisanClusterSpec
from partisan_operator.models.pods import ALLOWED_ANNOTATIONS, refused_annotations


def test_pause_and_resume_change_one_field(kubectl: FakeKubectl) -> None:
    assert run(kubectl, "pause", "ads") == (0, "ads paused\n")
    assert run(kubectl, "resume", "ads") == (0, "ads was resumed already\n")
    assert kubectl.patches == [{"spec": {"paused": True}}]


def test_a_rollout_can_be_paused_by_its_own_command(kubectl: FakeKubectl) -> None:
    assert run(kubectl, "rollout", "pause", "ads") == (0, "ads paused\n")
    assert kubectl.patches == [{"spec": {"paused": True}}]


def test_a_rollout_is_followed_to_its_end(kubectl: FakeKubectl) -> None:
    kubectl.set_condition("Progressing", "True", "RollingOut", "3 pods are of an earlier template")
    kubectl.status["updated"] = 1

    def sleep(_: float) -> None:
        kubectl.set_condition("Progressing", "False", "Settled", "The cluster is as asked")
        kubectl.status["updated"] = 4

    status, text = run(kubectl, "rollout", "status", "ads", sleep=sleep)
    assert status == 0
    first, last = text.splitlines()
    assert first.startswith("RollingOut: 3 pods are of an earlier template (1 of 4")
    assert last.startswith("Settled")


@pytest.mark.parametrize(
    ("error", "times", "status"),
    [
        ("Error from server (InternalError): etcdserver: leader changed", 30, 0),
        ("The connection to the server 10.0.0.1 was refused", 30, 0),
        ("Error from server (InternalError): etcdserver: leader changed", 31, None),
        ("Error from server (Forbidden): no", 1, None),
    ],
)
def test_a_rollout_is_followed_over_a_restart_of_the_api_server(
    kubectl: FakeKubectl, error: str, times: int, status: int | None
) -> None:
    kubectl.set_condition("Progressing", "True", "RollingOut", "3 pods are of an earlier template")
    cluster, slept = kubectl.cluster, 0

    def sleep(_: float) -> None:
        nonlocal slept
        slept += 1
        kubectl.cluster = error if slept <= times else cluster  # type: ignore[assignment]
        if slept > times:
            kubectl.set_condition("Progressing", "False", "Settled", "The cluster is as asked")

    if status is None:
        with pytest.raises(KubectlError):
            run(kubectl, "rollout", "status", "ads", sleep=sleep)
    else:
        assert run(kubectl, "rollout", "status", "ads", sleep=sleep)[0] == status


def test_a_rollout_that_takes_too_long_is_an_error(kubectl: FakeKubectl) -> None:
    kubectl.set_condition("Degraded", "True", "CrashLooping", "Pod ads-3: it crashed 4 times")
    times = iter([0.0, 1.0, 9.0])
    with pytest.raises(CommandError, match="not settled within 5 s: Stopped: CrashLooping"):
        run(
            kubectl,
            *("rollout", "status", "ads", "--timeout", "5"),
            sleep=lambda _: None,
            monotonic=lambda: next(times),
        )


def test_a_rollout_of_a_paused_cluster_says_how_to_resume(kubectl: FakeKubectl) -> None:
    kubectl.cluster["spec"]["paused"] = True
    with pytest.raises(CommandError, match="paused: kubectl partisan -n staging resume ads"):
        run(kubectl, "rollout", "status", "ads")


def test_a_rollout_is_reported_once_without_watch(kubectl: FakeKubectl) -> None:
    kubectl.cluster["metadata"]["generation"] = 3
    status, text = run(kubectl, "rollout", "status", "ads", "--no-watch")
    assert (status, text) == (0, "Waiting for the operator to see the newest spec\n")
    assert rollout.PERIOD > 0


REVISIONS = f"/apis/apps/v1/namespaces/{NAMESPACE}/controllerrevisions"
SHARD = f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets/ads"


def template(image: str, configuration: str = "c", **pod: Any) -> dict[str, Any]:
    return {
        "metadata": {"annotations": {"partisan.dev/config-hash": configuration}},
        "spec": {"containers": [{"image": image, "resources": {"requests": {}}}], **pod},
    }


def with_templates(kubectl: FakeKubectl, *templates: dict[str, Any]) -> None:
    """Record the StatefulSet's templates, the newest last, and one of another StatefulSet."""
    kubectl.answers[SHARD] = {
        "metadata": {"uid": "set-uid"},
        "status": {"updateRevision": f"ads-{len(templates)}"},
    }

    def revision(number: int, found: dict[str, Any], owner: str) -> dict[str, Any]:
        reference = {"controller": True, "uid": owner}
        return {
            "metadata": {"name": f"ads-{number}", "ownerReferences": [reference]},
            "revision": number,
            "data": {"spec": {"template": found}},
        }

    own = [revision(number, found, "set-uid") for number, found in enumerate(templates, 1)]
    other = revision(99, template("foreign"), "other-uid")
    kubectl.answers[REVISIONS] = {"items": [*reversed(own), other]}


def test_an_undo_sets_the_fields_that_made_the_newest_template(kubectl: FakeKubectl) -> None:
    kubectl.cluster["spec"] |= {"image": "node:3", "nodeSelector": {"disk": "ssd"}}
    with_templates(
        kubectl,
        template("node:1"),
        template("node:2", nodeSelector={"zone": "a"}),
        template("node:3", nodeSelector={"disk": "ssd"}),
    )
    status, text = run(kubectl, "rollout", "undo", "ads", "--dry-run")
    assert (status, kubectl.patches) == (0, [])
    assert "spec.image: node:3 -> node:2" in text
    status, text = run(kubectl, "rollout", "undo", "ads")
    assert status == 0
    assert kubectl.patches == [
        {"spec": {"image": "node:2", "nodeSelector": {"disk": None, "zone": "a"}}}
    ]
    assert "rollout status ads" in text


def test_an_undo_restores_additions_to_the_pods(kubectl: FakeKubectl) -> None:
    def carrying(team: str, *variables: str) -> dict[str, Any]:
        found = template("node:1")
        own = {"partisan.dev/cluster": "ads", "app.kubernetes.io/name": "partisan-node"}
        found["metadata"]["labels"] = own | ({"team": team} if team else {})
        env = [{"name": name, "value": "x"} for name in ("POD_NAME", "ERL_FLAGS", *variables)]
        found["spec"]["containers"][0]["env"] = env
        return found

    kubectl.cluster["spec"]["pods"] = {"labels": {"team": "b"}}
    with_templates(kubectl, carrying("", "COLOUR"), carrying("b"))
    run(kubectl, "rollout", "undo", "ads")
    env = [{"name": "COLOUR", "value": "x"}]
    assert kubectl.patches == [{"spec": {"pods": {"labels": None, "env": env}}}]


def test_an_undo_of_pods_with_an_override_is_refused(kubectl: FakeKubectl) -> None:
    overridden = template("node:2")
    overridden["metadata"]["annotations"]["partisan.dev/override"] = "hash"
    with_templates(kubectl, template("node:1"), overridden)
    with pytest.raises(CommandError, match="apply the previous manifest"):
        run(kubectl, "rollout", "undo", "ads")
    assert kubectl.patches == []


def test_an_undo_leaves_claims_alone(kubectl: FakeKubectl) -> None:
    """A template says nothing of them, and they cannot change."""

    def mounting(path: str) -> dict[str, Any]:
        found = template("node:1")
        found["spec"]["containers"][0]["volumeMounts"] = [
            {"name": "data", "mountPath": "/var/lib/partisan"},
            {"name": "cache", "mountPath": path},
        ]
        return found

    storage = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    kubectl.cluster["spec"]["pods"] = {
        "volumeClaimTemplates": [{"name": name, "spec": storage} for name in ("data", "cache")],
        "stateClaim": "data",
        "volumeMounts": [{"name": "cache", "mountPath": "/new"}],
    }
    with_templates(kubectl, mounting("/old"), mounting("/new"))
    run(kubectl, "rollout", "undo", "ads")
    mounts = [{"name": "cache", "mountPath": "/old"}]
    assert kubectl.patches == [{"spec": {"pods": {"volumeMounts": mounts}}}]


def test_an_undo_gives_back_no_mount_of_a_backup(kubectl: FakeKubectl) -> None:
    """The API server would refuse it in `spec.pods`."""
    restore = {"secret": "backup"}
    spec = PartisanClusterSpec.model_validate({"restore": restore})

    def restored(team: str) -> dict[str, Any]:
        found = template("node:1", volumes=restored_backup.volumes(spec))
        found["metadata"]["labels"] = {"team": team}
        found["spec"]["containers"][0]["volumeMounts"] = restored_backup.mounts(spec)
        return found

    kubectl.cluster["spec"] |= {"restore": restore, "pods": {"labels": {"team": "b"}}}
    with_templates(kubectl, restored("a"), restored("b"))
    run(kubectl, "rollout", "undo", "ads")
    assert kubectl.patches == [{"spec": {"pods": {"labels": {"team": "a"}}}}]
    del kubectl.cluster["spec"]["restore"]
    plain = template("node:1")
    plain["metadata"]["labels"] = {"team": "b"}
    with_templates(kubectl, restored("b"), plain)
    run(kubectl, "rollout", "undo", "ads")
    assert kubectl.patches[1:] == [{"spec": {"restore": restore}}]


def test_an_undo_restores_volumes_without_the_defaults_of_the_api_server(
    kubectl: FakeKubectl,
) -> None:
    def with_volumes(*volumes: dict[str, Any]) -> dict[str, Any]:
        own = {"name": "config", "configMap": {"name": "ads-config"}}
        return template("node:1", volumes=[own, *volumes])

    stored = {"defaultMode": 420, "name": "app"}
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    before = with_volumes(
        {"name": "settings", "configMap": stored},
        {
            "name": "disk",
            "ephemeral": {
                "volumeClaimTemplate": {
                    "metadata": {"creationTimestamp": None},
                    "spec": claim | {"volumeMode": "Filesystem"},
                }
            },
        },
    )
    kubectl.cluster["spec"]["pods"] = {"volumes": [{"name": "other", "emptyDir": {}}]}
    with_templates(kubectl, before, with_volumes({"name": "other", "emptyDir": {}}))
    run(kubectl, "rollout", "undo", "ads")
    volumes = [
        {"name": "settings", "configMap": stored},
        {"name": "disk", "ephemeral": {"volumeClaimTemplate": {"spec": claim}}},
    ]
    assert kubectl.patches == [{"spec": {"pods": {"volumes": volumes}}}]


@pytest.mark.parametrize(
    ("templates", "words"),
    [
        ([template("node:1")], "nothing to undo"),
        ([template("node:1", "a"), template("node:2", "b")], "apply the previous manifest"),
        (
            [template("node:1"), template("node:1", hostUsers=False)],
            "another version of the operator",
        ),
    ],
)
def test_an_impossible_undo_names_the_alternative(
    kubectl: FakeKubectl, templates: list[dict[str, Any]], words: str
) -> None:
    with_templates(kubectl, *templates)
    with pytest.raises(CommandError, match=words):
        run(kubectl, "rollout", "undo", "ads")
    assert kubectl.patches == []


def test_an_undo_of_a_paused_cluster_says_how_to_resume(kubectl: FakeKubectl) -> None:
    with_templates(kubectl, template("node:1"), template("node:2"))
    kubectl.cluster["spec"]["paused"] = True
    _, text = run(kubectl, "rollout", "undo", "ads")
    assert text.splitlines()[-1].endswith("resume ads")


def test_an_undo_that_the_api_server_refuses_changes_nothing(kubectl: FakeKubectl) -> None:
    with_templates(kubectl, template("node:1"), template("node:2"))
    kubectl.refusal = "Error from server (Invalid): spec.image: no"
    with pytest.raises(CommandError, match="nothing was changed"):
        run(kubectl, "rollout", "undo", "ads")


def test_a_reconcile_that_fails_on_the_newest_spec_is_shown(kubectl: FakeKubectl) -> None:
    kubectl.status["observedGeneration"] = 1
    kubectl.set_condition("Degraded", "True", "InvalidSpec", "cannot read the spec")
    _, text = run(kubectl, "rollout", "status", "ads", "--no-watch")
    assert text.startswith("Waiting for the operator")
    kubectl.status["conditions"][-1]["observedGeneration"] = 2
    _, text = run(kubectl, "rollout", "status", "ads", "--no-watch")
    assert text.startswith("Stopped: InvalidSpec: cannot read the spec")


def test_a_restart_annotates_the_pods_and_leaves_the_rest(kubectl: FakeKubectl) -> None:
    kubectl.cluster["spec"]["pods"] = {"annotations": {"example.org/build": "2"}}
    status, text = run(kubectl, "rollout", "restart", "ads")
    assert (status, text) == (
        0,
        "Restarting. Follow it: kubectl partisan -n staging rollout status ads\n",
    )
    annotations = {"kubectl.kubernetes.io/restartedAt": "2026-01-01T01:00:00Z"}
    assert kubectl.patches == [{"spec": {"pods": {"annotations": annotations}}}]


def test_a_restart_of_a_paused_cluster_says_how_to_resume(kubectl: FakeKubectl) -> None:
    kubectl.cluster["spec"]["paused"] = True
    _, text = run(kubectl, "rollout", "restart", "ads")
    assert text.splitlines()[-1].endswith("resume ads")


def test_a_restart_that_is_refused_names_the_chart_value(kubectl: FakeKubectl) -> None:
    kubectl.refusal = (
        "Error from server (Invalid): spec.pods.annotations: add it to the chart's value"
        " allowedPodAnnotations"
    )
    with pytest.raises(CommandError, match=r"nothing was changed: .*allowedPodAnnotations"):
        run(kubectl, "rollout", "restart", "ads")


def test_the_api_server_and_the_operator_allow_the_annotation_of_a_restart() -> None:
    assert refused_annotations({restart.ANNOTATION: ""}, ALLOWED_ANNOTATIONS) == []
