"""What an operator's process takes, second by second, and how many pods its clusters have ready."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from scale_tests.cluster.kube import ApiError, Cluster
from scale_tests.cluster.kwok.clusters import statuses
from scale_tests.cluster.kwok.operator_process import OperatorProcess
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
    """The operator's, of what is resident."""

    cpu_seconds: float
    """The operator's, since its start."""


@dataclass
class Sampler:
    """Takes samples in a thread of its own; `sampling` runs one."""

    cluster: Cluster
    operator: OperatorProcess
    samples: list[Sample] = field(default_factory=list)
    _ended: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        """Takes samples until it is told to end."""
        began = time.monotonic()
        while not self._ended.wait(PERIOD):
            try:
                found = statuses(self.cluster)
            except ApiError:
                continue  # A busy API server: the next second tells again.
            self.samples.append(
                Sample(
                    second=round(time.monotonic() - began, 1),
                    ready=sum(item.get("status", {}).get("ready") or 0 for item in found),
                    memory_mib=round(procfs.memory(self.operator.pid)["Rss"] / MIB, 1),
                    cpu_seconds=procfs.cpu_seconds(self.operator.pid),
                )
            )

    def end(self) -> None:
        """Has it end after the sample it is at."""
        self._ended.set()


@contextmanager
def sampling(cluster: Cluster, operator: OperatorProcess) -> Iterator[list[Sample]]:
    """Takes samples until the block is left."""
    sampler = Sampler(cluster, operator)
    thread = threading.Thread(target=sampler.run, name="sampler")
    thread.start()
    try:
        yield sampler.samples
    finally:
        sampler.end()
        thread.join()
