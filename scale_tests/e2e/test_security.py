"""Connections between nodes over TLS: accepted and refused peers, and missing Secrets."""

from pathlib import Path

import pytest

from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, core
from scale_tests.cluster.sealing import sealed, secret
from scale_tests.cluster.subject import Subject
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject
from scale_tests.localkube.certificates import issue_authority

NODES = 16
PARTISAN_PORT = 7946

PLAINTEXT_PEER = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), 300) as plain:
    plain.sendall(bytes([0, 0, 0, 4]) + b"PRTN")
    print(plain.recv(1).hex())
"""
"""Speaks the protocol without TLS and prints the first byte of the answer."""

TLS_ALERT = "15"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of an authority of these tests' own."""
    directory = tmp_path_factory.mktemp("authority")
    issue_authority(directory)
    return directory


def test_nodes_with_tls_count_and_refuse_plain_connections(
    new_subject: NewSubject, cluster: Cluster, environment: Environment, authority: Path
) -> None:
    subject = new_subject("sealed")
    cluster.create(core(subject.namespace, "secrets"), secret(subject, authority))
    status = subject.apply(sealed(subject, NODES)).wait_finished()
    nodes = wait_for("all nodes answer", subject.nodes, lambda found: len(found) == NODES)
    assert status.workload.value == status.workload.increments_sum >= status.workload.threshold
    assert {node.value for node in nodes} == {status.workload.value}
    name, pod = sorted(subject.pods().items())[0]
    assert "partisan_tls_certificate_expiration_timestamp_seconds " in subject.metrics(name)
    assert answer_to_plaintext(subject, pod["status"]["podIP"], environment) == TLS_ALERT
    refused = 'partisan_refused_connections_total{reason="plaintext"} 1'
    wait_for("the refusal's metric", lambda: refused in subject.metrics(name), bool)


def test_a_missing_secret_is_reported_and_nodes_start_when_it_is_created(
    new_subject: NewSubject, cluster: Cluster, authority: Path
) -> None:
    subject = new_subject("unsealed")
    subject.apply(sealed(subject, 2))

    subject.wait_degraded("TlsSecretUnusable", "unsealed-tls", "spec.security.tls.secretName")
    cluster.create(core(subject.namespace, "secrets"), secret(subject, authority))
    subject.wait_steady()


def answer_to_plaintext(subject: Subject, address: str, environment: Environment) -> str:
    """The first byte that a node sends to a pod that speaks without TLS."""
    pods = core(subject.namespace, "pods")
    container = {
        "name": "python",
        "image": environment.operator_image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "-c", PLAINTEXT_PEER, address, str(PARTISAN_PORT)],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    spec = {
        "restartPolicy": "Never",
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [container],
    }
    subject.cluster.create(pods, {"metadata": {"name": "plaintext-peer"}, "spec": spec})
    path = f"{pods}/plaintext-peer"
    phase = wait_for(
        "the end of the plaintext peer",
        lambda: str(subject.cluster.get(path)["status"].get("phase")),
        lambda found: found in ("Succeeded", "Failed"),
    )
    said = subject.cluster.text(f"{path}/log").strip()
    assert phase == "Succeeded", said
    return said
