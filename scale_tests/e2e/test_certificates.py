"""Certificates that the operator issues itself, and where they may come from at all."""

import re
import time

import pytest

from scale_tests.cluster.kube import ApiError, Cluster, Json, core
from scale_tests.cluster.sealing import certified, secrets, used
from scale_tests.cluster.subject import Subject
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject
from scale_tests.host.commands import ROOT

NODES = 3
KUBELET_SECONDS = 600.0
"""Timeout of a kubelet that brings a changed Secret into a pod, on a busy machine."""

LIFETIMES = {"duration": "240h", "certificateDuration": "1h", "renewBefore": "10m"}


def rotation(subject: Subject) -> Json:
    found: Json = (subject.json().get("status") or {}).get("clusterCa") or {}
    return found


def sync_now(subject: Subject) -> None:
    """Has the kubelet bring changed Secrets into the pods.

    It does when it syncs a pod, which is about once a minute, and when the pod changes.
    """
    for name in subject.pods():
        path = core(subject.namespace, "pods", name)
        annotations = {"partisan.dev/synced-at": str(time.monotonic())}
        subject.cluster.patch(path, {"metadata": {"annotations": annotations}})


def refused(subject: Subject) -> int:
    """Connections that nodes have refused because of a certificate."""
    pattern = r'partisan_refused_connections_total\{reason="(?!closed|timeout)\w+"\} (\d+)'
    texts = [subject.metrics(pod) for pod in subject.pods()]
    return sum(int(count) for text in texts for count in re.findall(pattern, text))


def test_the_operators_authority_is_replaced_under_running_nodes_and_goes_with_the_cluster(
    new_subject: NewSubject, cluster: Cluster
) -> None:
    subject = new_subject("vault")
    subject.apply(certified(subject, NODES, {"clusterCa": LIFETIMES})).wait_steady()
    pods = subject.pods()
    mounted = {
        volume["secret"]["secretName"]
        for pod in pods.values()
        for volume in pod["spec"]["volumes"]
        if "secret" in volume
    }
    assert mounted == {"vault-tls", "vault-token", "vault-bearer"}
    (first,) = used(subject)
    before = refused(subject)

    # As for an authority that nears its end, without the wait.
    with subject.watched() as states:
        wait_for("the watch", states, bool)
        cluster.delete(core(subject.namespace, "secrets", "vault-ca"))

        def steps() -> list[tuple[str, int]]:
            sync_now(subject)
            seen = [state["status"]["clusterCa"] for state in states()]
            return [(found["rotation"], found["loaded"]) for found in seen]

        def rotated(now: list[tuple[str, int]]) -> bool:
            return now[-1] == ("Settled", NODES) and "AuthorityRotated" in subject.events()

        found = wait_for(
            "the authority's replacement", steps, rotated, stall_seconds=KUBELET_SECONDS
        )
    order = [rotation for rotation, _ in found]
    assert order.index("DistributingAuthority") < order.index("RetiringAuthority")
    (last,) = used(subject)
    assert last[0] != first[0]
    assert len(first[1]) == len(last[1]) == 1
    assert first[1] != last[1]
    subject.wait_events("AuthorityRotationStarted", "CertificateRenewed", "AuthorityRotated")

    # No node was cut off, restarted or refused.
    status = subject.wait_steady()
    assert status.joined == NODES
    assert {name: pod["metadata"]["uid"] for name, pod in pods.items()} == subject.uids()
    assert set(subject.restarts().values()) == {0}
    assert refused(subject) == before

    # Whose lifetime grows is due at once.
    expires = rotation(subject)["certificateExpiresAt"]
    subject.patch(
        security={"tls": {"clusterCa": {"certificateDuration": "48h", "renewBefore": "24h"}}}
    )

    def synced() -> Json:
        sync_now(subject)
        return rotation(subject)

    wait_for(
        "the certificate's renewal",
        synced,
        lambda now: now["loaded"] == NODES and now["certificateExpiresAt"] > expires,
        stall_seconds=KUBELET_SECONDS,
    )
    assert used(subject) != {last}
    assert {authorities for _, authorities in used(subject)} == {last[1]}

    archive = subject.kubectl("get", "partisanclusters", "vault", "-o", "yaml")
    assert "PRIVATE KEY" not in archive
    subject.delete()
    wait_for("no Secret", lambda: secrets(subject), lambda left: not left)


@pytest.mark.parametrize(
    ("tls", "expected"),
    [
        ({}, "exactly one of secretName"),
        ({"secretName": "a", "clusterCa": {}}, "exactly one of secretName"),
        ({"issuerRef": {"name": "a"}, "clusterCa": {}}, "exactly one of secretName"),
        ({"clusterCa": {}, "serverName": "a.example.org"}, "serverName"),
        ({"clusterCa": {"duration": "100h", "certificateDuration": "51h"}}, "at most half"),
        ({"clusterCa": {"certificateDuration": "30h", "renewBefore": "16h"}}, "at most half"),
        ({"clusterCa": {"renewBefore": "1m"}}, "between 10m and 87600h"),
    ],
)
def test_impossible_settings_are_refused_with_the_fix(
    new_subject: NewSubject, tls: Json, expected: str
) -> None:
    subject = new_subject("wrong")
    with pytest.raises(ApiError, match=expected):
        subject.apply(certified(subject, NODES, tls))


def test_the_example_is_accepted(new_subject: NewSubject) -> None:
    path = str(ROOT / "examples" / "tls.yaml")
    assert "created" in new_subject("ads-tls").kubectl("apply", "--dry-run=server", "-f", path)


def test_the_source_of_a_certificate_is_fixed(new_subject: NewSubject, cluster: Cluster) -> None:
    subject = new_subject("fixed")
    subject.apply(certified(subject, NODES, {"clusterCa": {}}))
    with pytest.raises(ApiError, match="cannot move between"):
        subject.patch(security={"tls": {"clusterCa": None, "secretName": "mine"}})
    with pytest.raises(ApiError, match="neither added nor removed"):
        subject.patch(security={"tls": None})
    cluster.delete(subject.path)
