"""Users' additions to pods, and limits of channels, are in force in the running nodes."""

from typing import Any

from scale_tests.cluster.kube import Cluster, core
from scale_tests.cluster.subject import Subject, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject
from scale_tests.host.commands import ROOT

PASSWORD = {"secretKeyRef": {"name": "carrying-extra", "key": "password"}}
CARRIED = {
    "labels": {"example.org/team": "ads"},
    "annotations": {"example.org/owner": "team-a"},
    "env": [{"name": "REGION", "value": "eu-1"}, {"name": "API_PASSWORD", "valueFrom": PASSWORD}],
    "envFrom": [{"prefix": "MORE_", "secretRef": {"name": "carrying-extra"}}],
}


def variables(subject: Subject, pod: str) -> dict[str, str]:
    """The environment of a node's container."""
    lines = subject.kubectl("exec", pod, "--", "env").splitlines()
    return dict(line.partition("=")[::2] for line in lines)


def test_a_missing_secret_is_reported_and_reaches_the_nodes_when_it_is_created(
    new_subject: NewSubject, cluster: Cluster
) -> None:
    subject = new_subject("carrying")
    subject.apply(manifest("carrying", 2, workload=None, pods=CARRIED))
    subject.wait_degraded("ContainerConfigError", "carrying-extra", "spec.pods")
    secret = {"metadata": {"name": "carrying-extra"}, "stringData": {"password": "open sesame"}}
    cluster.create(core(subject.namespace, "secrets"), secret)
    subject.wait_steady()
    found = variables(subject, "carrying-1")
    assert found["REGION"] == "eu-1"
    assert found["API_PASSWORD"] == found["MORE_password"] == "open sesame"
    assert found["POD_NAME"] == "carrying-1"
    metadata = subject.pods()["carrying-1"]["metadata"]
    assert metadata["labels"]["example.org/team"] == "ads"
    assert metadata["annotations"]["example.org/owner"] == "team-a"


def test_another_annotation_rolls_the_pods(new_subject: NewSubject) -> None:
    subject = new_subject("marked")
    subject.apply(manifest("marked", 2, workload=None))
    subject.wait_steady()
    before = subject.uids()
    subject.patch(pods={"annotations": {"example.org/restarted": "once"}})
    wait_for(
        "all pods replaced",
        subject.uids,
        lambda now: len(now) == len(before) and not set(now.values()) & set(before.values()),
    )
    subject.wait_steady()
    annotations = subject.pods()["marked-0"]["metadata"]["annotations"]
    assert annotations["example.org/restarted"] == "once"


def test_the_limits_of_a_channel_are_in_force_and_the_count_is_complete(
    new_subject: NewSubject,
) -> None:
    subject = new_subject("bounded-channels")
    channels: list[dict[str, Any]] = [
        {"name": "default", "acknowledged": True},
        {"name": "gossip", "monotonic": True, "queueLimit": "512Ki"},
    ]
    subject.apply(manifest("bounded-channels", 3, channels=channels))
    run = subject.wait_finished().workload
    assert (run.value, run.lost_increments) == (run.increments_sum, 0)
    limits = {
        line.split()[0]: float(line.split()[1])
        for line in subject.metrics("bounded-channels-0").splitlines()
        if line.startswith("partisan_lane_queue_limit_bytes{")
    }
    name = "partisan_lane_queue_limit_bytes"
    assert limits == {
        f'{name}{{channel="default"}}': 8 * 2**20,
        f'{name}{{channel="gossip"}}': 2**19,
        f'{name}{{channel="overlay"}}': 8 * 2**20,
    }


def test_the_example_is_taken_by_the_api_server(new_subject: NewSubject) -> None:
    path = str(ROOT / "examples" / "carrying.yaml")
    dry_run = ("create", "--dry-run=server", "--validate=strict", "-f", path)
    assert "created" in new_subject("ads-carrying").kubectl(*dry_run)


def test_every_new_field_is_explained(new_subject: NewSubject) -> None:
    subject = new_subject("explained")
    fields = ("pods.env.valueFrom", "pods.envFrom", "channels.acknowledged", "metrics.podMonitor")
    for field in fields:
        said = subject.kubectl("explain", f"partisanclusters.spec.{field}")
        assert "<no description>" not in said
