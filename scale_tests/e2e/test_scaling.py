"""Autoscalers use the scale subresource; scale-downs that break the overlay are refused."""

from collections.abc import Iterator

import pytest
import yaml

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import ApiError, Cluster, Json, holds
from scale_tests.cluster.subject import Subject, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e import kinds
from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.foreign_crds import scaled_object
from scale_tests.host.commands import ROOT, CommandError


def test_an_autoscaler_drives_the_number_of_nodes(
    new_subject: NewSubject, cluster: Cluster
) -> None:
    """Only its bounds have an effect here: there is no metrics server."""
    subject = new_subject("scaled")
    subject.apply(manifest("scaled", 3, workload=None))
    subject.wait_steady()
    before = subject.uids()
    path = f"apis/autoscaling/v2/namespaces/{subject.namespace}/horizontalpodautoscalers"
    cluster.create(path, autoscaler(subject, least=5, most=8))
    status = subject.wait("raised to the least", lambda s: s.steady and s.joined == 5)
    assert status.components == 1
    assert before.items() <= subject.uids().items()
    cluster.patch(f"{path}/scaled", {"spec": {"minReplicas": 2, "maxReplicas": 4}})
    subject.wait("lowered to the most", lambda s: s.steady and s.joined == 4)
    wait_for(
        "the lower ordinals",
        lambda: sorted(subject.pods()),
        [f"scaled-{ordinal}" for ordinal in range(4)].__eq__,
    )
    wait_for(
        "an autoscaler that is able to scale",
        lambda: cluster.get(f"{path}/scaled"),
        lambda found: holds(found, "AbleToScale") and found["status"]["currentReplicas"] == 4,
    )


def autoscaler(subject: Subject, *, least: int, most: int) -> Json:
    target = {
        "apiVersion": "partisan.dev/v1alpha1",
        "kind": "PartisanCluster",
        "name": subject.name,
    }
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
    return {
        "metadata": {"name": subject.name},
        "spec": {
            "scaleTargetRef": target,
            "minReplicas": least,
            "maxReplicas": most,
            "metrics": [{"type": "Resource", "resource": cpu}],
            "behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}},
        },
    }


def static(*edges: tuple[int, int]) -> Json:
    return {"kind": "Static", "static": {"edges": [list(edge) for edge in edges]}}


def test_a_scale_down_that_would_partition_the_overlay_is_refused(
    new_subject: NewSubject,
) -> None:
    subject = new_subject("bounded")
    edges = [(0, 1), (1, 3), (3, 2)]
    subject.apply(manifest("bounded", 4, workload=None, overlay=static(*edges)))
    subject.wait_steady()
    pods, before = subject.uids(), revisions(subject)
    # Ordinal 3, which goes, is the only way from 2 to the others.
    with pytest.raises(ApiError, match="must connect all nodes"):
        subject.patch(replicas=3, overlay=static((0, 1), (1, 0)))
    assert (subject.uids(), revisions(subject)) == (pods, before)
    subject.patch(replicas=3, overlay=static((0, 1), (1, 2)))
    subject.wait("scaled once it is safe", lambda s: s.steady and s.joined == 3)
    left = {name: pods[name] for name in pods if name != "bounded-3"}
    wait_for("the pods that are left", subject.uids, left.__eq__)


def test_the_last_servers_cannot_be_scaled_away(new_subject: NewSubject) -> None:
    subject = new_subject("served")
    overlay = {"kind": "ClientServer", "clientServer": {"servers": 2}}
    subject.apply(manifest("served", 3, workload=None, overlay=overlay))
    subject.wait_steady()
    pods = subject.uids()
    with pytest.raises(CommandError) as refused:
        subject.kubectl("scale", "pcl/served", "--replicas=1")
    assert "servers must not exceed replicas" in refused.value.output
    assert subject.json()["spec"]["replicas"] == 3
    assert subject.uids() == pods


def test_the_api_server_accepts_the_example_of_an_autoscaler(new_subject: NewSubject) -> None:
    path = str(ROOT / "examples" / "autoscaler.yaml")
    dry_run = ("create", "--dry-run=server", "--validate=strict", "-f", path)
    assert "created" in new_subject("ads").kubectl(*dry_run)


@pytest.fixture
def scaled_objects(environment: Environment, cluster: Cluster) -> Iterator[None]:
    """KEDA's CRD of ScaledObjects, for a while."""
    wanted = [scaled_object()]
    kinds.define(environment, cluster, wanted)
    yield
    kinds.forget(cluster, wanted)


@pytest.mark.usefixtures("scaled_objects")
def test_the_example_for_keda_matches_its_crd(new_subject: NewSubject, cluster: Cluster) -> None:
    path = ROOT / "examples" / "keda.yaml"
    dry_run = ("create", "--dry-run=server", "--validate=strict", "-f", str(path))
    assert "created" in new_subject("ads").kubectl(*dry_run)
    # KEDA reads the scale subresource of its target.
    target = yaml.safe_load(path.read_text())["spec"]["scaleTargetRef"]
    versions = cluster.get(operator.CRD)["spec"]["versions"]
    (version,) = (v for v in versions if target["apiVersion"] == f"partisan.dev/{v['name']}")
    assert version["subresources"]["scale"]["labelSelectorPath"] == ".status.selector"


def revisions(subject: Subject) -> set[str]:
    """The configurations that the nodes follow."""
    return {subject.node_json(pod)["revision"] for pod in subject.pods()}
