"""A cluster whose pods are plain processes runs, recovers from a kill, and is removed."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scale_tests.cluster.agent import machine
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, holds
from scale_tests.cluster.local_nodes import processes
from scale_tests.cluster.subject import manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject

NODES = 5
PLACE = f"api/v1/nodes/{machine.NAME}"


@pytest.fixture(scope="module", autouse=True)
def agent(environment: Environment, cluster: Cluster) -> Iterator[None]:
    """The agent, from before the file's namespace is made until it is gone.

    Its Node has a taint that the pods of no other test tolerate.
    """
    if not environment.local:
        pytest.skip("the agent's addresses are this machine's own")
    command = [sys.executable, "-m", "scale_tests.cluster.agent", "--pods", "20", "--"]
    with subprocess.Popen([*command, "sleep", "infinity"]) as process:
        try:
            wait_for("the agent's Node", lambda: cluster.find(PLACE), lambda n: n is not None)
            yield
        finally:
            process.send_signal(signal.SIGTERM)
    assert cluster.find(PLACE) is None


def test_a_pod_whose_process_is_killed_restarts(
    new_subject: NewSubject,
) -> None:
    subject = new_subject("plain")
    subject.apply(
        manifest(
            "plain",
            NODES,
            nodeSelector={machine.LABEL: machine.NAME},
            tolerations=[{"key": machine.LABEL, "operator": "Exists"}],
        )
    )
    assert subject.wait_finished().workload.value >= NODES * 20
    running = processes(subject.namespace)
    assert running.keys() == subject.pods().keys()
    for pid in running.values():
        # When memory is full it is a node that ends, and not what keeps the cluster.
        assert Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == "1000"
    killed = "plain-2"
    os.kill(running[killed], signal.SIGKILL)
    wait_for("a restart", subject.restarts, lambda counts: counts[killed] == 1)
    wait_for("the pod", lambda: subject.pods()[killed], lambda pod: holds(pod, "Ready"))
    assert processes(subject.namespace)[killed] != running[killed]
    subject.wait("joined", lambda status: status.joined == NODES)
    subject.delete()
    wait_for("the end", lambda: len(processes(subject.namespace)), lambda count: count == 0)
