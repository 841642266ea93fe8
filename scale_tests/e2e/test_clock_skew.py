"""Operators with a wrong clock take over, and hand over to one with the right clock."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster
from scale_tests.cluster.subject import LASTING, counter, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import Disruption, NewSubject
from scale_tests.e2e.outcomes import assert_accounted
from scale_tests.host.commands import ROOT

pytestmark = pytest.mark.disrupts
"""Stops the operator of the cluster."""

NODES = 5

SKEWS = {"ahead": "+3600s", "behind": "-120s"}
"""The shift of the clock, as faketime takes it. A certificate may be no older than the one that is
behind."""

METRICS_PORT = 19090


@contextmanager
def skewed_operator(environment: Environment, shift: str, log: Path) -> Iterator[None]:
    """Runs the operator as a process of this machine whose clock is wrong; ends it with SIGKILL.

    Its steady clock is that of the machine, as with any clock that was set wrong.
    """
    faketime = shutil.which("faketime")
    assert faketime, "faketime is missing: python3 -m scale_tests.bootstrap"
    variables = {
        **environment.variables,
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "NO_FAKE_STAT": "1",
        "PYTHONPATH": str(ROOT / "operator" / "src"),
        "PARTISAN_OPERATOR_NODE_IMAGE": environment.node_image,
        "PARTISAN_OPERATOR_METRICS_PORT": str(METRICS_PORT),
        "PATH": "/usr/bin:/bin",
    }
    with log.open("w") as output:
        process = subprocess.Popen(
            [faketime, "-f", shift, sys.executable, "-m", "partisan_operator"],
            cwd=ROOT,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield
        assert process.poll() is None, f"the operator has ended: {log.read_text()}"
    finally:
        # The operator is a child of faketime, and would outlive it.
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def holder(cluster: Cluster) -> str:
    """The identity of the leader; empty without one."""
    lease = cluster.find(operator.LEASE)
    return "" if lease is None else str(lease["spec"].get("holderIdentity") or "")


@pytest.mark.parametrize("skew", SKEWS)
def test_an_operator_with_a_wrong_clock_works(
    new_subject: NewSubject,
    environment: Environment,
    cluster: Cluster,
    disruption: Disruption,
    tmp_path: Path,
    skew: str,
) -> None:
    if not environment.local:
        pytest.skip("the operator with the wrong clock reaches the pods from this machine")
    subject = new_subject(skew)
    subject.apply(manifest(skew, NODES, workload={"adCounter": counter(NODES, LASTING)}))
    subject.wait_counted(NODES * 5)
    before = subject.uids()
    with disruption():
        # It gives the Lease back, so that the next one need not wait for its end.
        operator.install(environment, values=["--set", "replicas=0"])
        try:
            with skewed_operator(environment, SKEWS[skew], tmp_path / "operator.log"):
                previous = wait_for("an operator that acts", lambda: holder(cluster), bool)
                subject.wait_healthy(NODES)
                ended = subject.end_run()
                assert_accounted(subject, ended)
                assert (ended.workload.replaced_nodes, ended.workload.lost_increments) == (0, 0)
                subject.patch(replicas=NODES + 1)
                subject.wait_healthy(NODES + 1)
        finally:
            # The Lease was renewed at a time that is not the others', and is not given back.
            operator.install(environment)
        wait_for("another operator that acts", lambda: holder(cluster), lambda now: now != previous)
    subject.patch(replicas=NODES)
    status = subject.wait_healthy(NODES)
    assert status.workload == ended.workload
    wait_for("the pods as before", subject.uids, before.__eq__)
    assert set(subject.restarts().values()) == {0}
