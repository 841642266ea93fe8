"""CPU and memory of an operator, second by second, and the ready pods of its clusters."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from scale_tests.cluster.kube import ApiError, Cluster
from scale_tests.cluster.kwok.clusters import statuses
from scale_tests.cluster.kwok.operator_process import OperatorProcess
from scale_tests.cluster.wait import repeating
from scale_tests.host import procfs
from scale_tests.host.units import MIB

PERIOD = 1.0


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One second."""

    second: float
    ready: int
    """Pods of all clusters."""

    memory_mib: float
    """The operator's resident memory."""

    cpu_seconds: float
    """The operator's, since its start."""


@contextmanager
def sampling(cluster: Cluster, operator: OperatorProcess) -> Iterator[list[Sample]]:
    """Takes a sample every second until the block is left."""
    samples: list[Sample] = []
    began = time.monotonic()

    def take() -> None:
        with suppress(ApiError):  # A busy API server: the next second has another sample.
            found = statuses(cluster)
            samples.append(
                Sample(
                    second=round(time.monotonic() - began, 1),
                    ready=sum(item.get("status", {}).get("ready") or 0 for item in found),
                    memory_mib=round(procfs.memory(operator.pid)["Rss"] / MIB, 1),
                    cpu_seconds=procfs.cpu_seconds(operator.pid),
                )
            )

    with repeating(take, PERIOD):
        yield samples
