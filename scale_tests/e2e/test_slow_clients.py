"""Clients that are slow, or that have no bearer, keep neither probes nor the operator out."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import ApiError, Json
from scale_tests.cluster.subject import Subject, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject
from scale_tests.host.commands import ROOT

NODES = 3
VICTIM = "slowed-1"
PROBES_SECONDS = 45.0
"""For so long the clients are there: several readiness probes, of which two may not fail in a
row."""


@pytest.fixture(scope="module")
def subject(new_subject: NewSubject, environment: Environment) -> Subject:
    if not environment.local:
        pytest.skip("this machine has to reach pods by their addresses")
    subject = new_subject("slowed")
    subject.apply(manifest("slowed", NODES, workload=None)).wait_steady()
    return subject


@contextmanager
def crowd(pod: Json) -> Iterator[None]:
    """Two hundred clients of a pod."""
    address = pod["status"]["podIP"]
    clients = subprocess.Popen(
        [sys.executable, "-m", "scale_tests.e2e.slow_clients", address], cwd=ROOT
    )
    try:
        yield
    finally:
        clients.terminate()
        clients.wait()


def readiness(subject: Subject) -> tuple[str, str]:
    """Whether the pod is ready, and since when."""
    conditions = subject.pods()[VICTIM]["status"]["conditions"]
    (ready,) = (entry for entry in conditions if entry["type"] == "Ready")
    return ready["status"], ready["lastTransitionTime"]


def displaced(subject: Subject) -> int | None:
    """The number of connections closed in favour of others; None if this one was among them."""
    pattern = r'^partisan_http_refused_total\{reason="displaced"\} (\d+)$'
    try:
        found = re.search(pattern, subject.metrics(VICTIM), re.MULTILINE)
    except ApiError:
        # A read without a bearer has no more right to a connection than the slow clients.
        return None
    return 0 if found is None else int(found[1])


def test_slow_clients_do_not_block_probes_and_appear_in_metrics_and_log(subject: Subject) -> None:
    before = readiness(subject)
    assert before[0] == "True"
    with crowd(subject.pods()[VICTIM]):
        wait_for("the clients", lambda: displaced(subject), lambda count: (count or 0) >= 200)
        began = time.monotonic()
        wait_for("some probes", time.monotonic, lambda now: now > began + PROBES_SECONDS)
        # The operator gets answers, too.
        subject.patch(overlay={"kind": "FullMesh"})
        subject.wait_reconfigured()
        assert readiness(subject) == before
    assert subject.restarts()[VICTIM] == 0
    log = subject.kubectl("logs", VICTIM)
    lines = [line for line in log.splitlines() if "event=http_refused" in line]
    assert any("reason=displaced" in line for line in lines)
    assert len(lines) < 20
