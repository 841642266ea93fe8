"""Clients that are slow, or that have no bearer, keep neither probes nor the operator out."""

import math
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import ApiError, Json, holds
from scale_tests.cluster.subject import Subject, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject
from scale_tests.host.commands import ROOT

NODES = 3
VICTIM = "slowed-1"
REASONS = {"displaced", "busy", "too_slow", "unauthorized"}
"""For which the node refuses these clients, and the reads of this test, which has no bearer."""
PROBES_SECONDS = 45.0
"""For so long the clients are there: several readiness probes, after which the pod is ready."""


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
    began = time.monotonic()
    with crowd(subject.pods()[VICTIM]):
        wait_for("the clients", lambda: displaced(subject), lambda count: (count or 0) >= 200)
        met = time.monotonic()
        wait_for("some probes", time.monotonic, lambda now: now > met + PROBES_SECONDS)
        # Probes that time out on a busy machine make it unready for a while, clients for ever.
        wait_for("readiness", lambda: subject.pods()[VICTIM], lambda pod: holds(pod, "Ready"))
        # The operator gets answers, too.
        subject.patch(overlay={"kind": "FullMesh"})
        subject.wait_reconfigured()
    assert subject.restarts()[VICTIM] == 0
    log = subject.kubectl("logs", VICTIM)
    lines = [line for line in log.splitlines() if "event=http_refused" in line]
    assert any("reason=displaced" in line for line in lines)
    # Once a minute for each reason.
    minutes = math.ceil((time.monotonic() - began) / 60)
    assert len(lines) <= len(REASONS) * (minutes + 1)
