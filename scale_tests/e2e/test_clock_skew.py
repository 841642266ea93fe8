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


def test_operators_with_a_wrong_clock_work_one_after_the_other(
    new_subject: NewSubject,
    environment: Environment,
    cluster: Cluster,
    disruption: Disruption,
    tmp_path: Path,
) -> None:
    """Each takes over from one with another clock, and changes a cluster of its own."""
    if not environment.local:
        pytest.skip("the operator with the wrong clock reaches the pods from this machine")
    subjects = {skew: new_subject(skew) for skew in SKEWS}
    for subject in subjects.values():
        workload = {"adCounter": counter(NODES, LASTING)}
        subject.apply(manifest(subject.name, NODES, workload=workload))
    for subject in subjects.values():
        subject.wait_counted(NODES * 5)
    before = {skew: subject.uids() for skew, subject in subjects.items()}
    ended = {}
    with disruption():
        # It gives the Lease back, so that the next one need not wait for its end. The others are
        # killed: the Lease was renewed at a time that is not their successor's.
        operator.install(environment, values=["--set", "replicas=0"])
        previous = ""
        try:
            for skew, subject in subjects.items():
                with skewed_operator(environment, SKEWS[skew], tmp_path / f"{skew}.log"):
                    previous = another_holder(cluster, previous)
                    subject.wait_healthy(NODES)
                    ended[skew] = subject.end_run()
                    assert_accounted(subject, ended[skew])
                    subject.patch(replicas=NODES + 1)
                    subject.wait_healthy(NODES + 1)
        finally:
            operator.install(environment)
        another_holder(cluster, previous)
    for subject in subjects.values():
        subject.patch(replicas=NODES)
    for skew, subject in subjects.items():
        run = ended[skew].workload
        assert (run.replaced_nodes, run.lost_increments) == (0, 0)
        assert subject.wait_healthy(NODES).workload == run
        wait_for("the pods as before", subject.uids, before[skew].__eq__)
        assert set(subject.restarts().values()) == {0}


def another_holder(cluster: Cluster, previous: str) -> str:
    """Waits until another operator than the previous one acts; returns its identity."""
    return wait_for(
        "another operator that acts",
        lambda: holder(cluster),
        lambda now: now not in ("", previous),
    )
