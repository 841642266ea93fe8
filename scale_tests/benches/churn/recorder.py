"""Looking on: a sample after the other, on a thread of its own, until told to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable
from types import TracebackType
from typing import Self

import urllib3

from scale_tests.benches.churn.timeline import Sample
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import ApiError, Cluster
from scale_tests.cluster.nodes import NodeStatus, read_nodes, read_nodes_at
from scale_tests.cluster.partisan import read_addresses, read_cluster
from scale_tests.cluster.wait import STALL_SECONDS, StallClock, StalledError

PERIOD_SECONDS = 1.0
_SHARE_OF_TIME = 3
"""The recorder rests at least this many times as long as it computed, so that looking at hundreds
of nodes leaves the machine to them."""


def recovery(sample: Sample) -> Hashable:
    """What moves while a cluster recovers; the counter does for ever, and is no recovery."""
    status = sample.cluster
    return (
        (status.replicas, status.ready, status.joined, status.components, status.isolated),
        (status.workload.replaced_nodes, status.phase, sample.components, len(sample.nodes)),
        sum(node.joined for node in sample.nodes),
    )


class Recorder:
    """Takes samples of one cluster while its context lasts. `samples` has those so far."""

    def __init__(
        self,
        environment: Environment,
        cluster: Cluster,
        namespace: str,
        name: str,
    ) -> None:
        self.samples: list[Sample] = []
        self.missed = 0
        """Looks that the API server did not answer."""
        self._environment = environment
        self._cluster = cluster
        self._namespace = namespace
        self._name = name
        self._started = time.monotonic()
        self._changed = threading.Condition()
        self._stopped = threading.Event()
        self._failure: Exception | None = None
        self._pool = urllib3.PoolManager(
            num_pools=1,
            retries=False,
            timeout=urllib3.Timeout(5.0),
            headers={"connection": "close"},
        )
        self._thread = threading.Thread(target=self._run, name="recorder")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopped.set()
        self._thread.join()

    @property
    def seconds(self) -> float:
        """The time, as samples tell it."""
        return time.monotonic() - self._started

    @property
    def last(self) -> Sample:
        """The newest sample, of which there has to be one."""
        return self.samples[-1]

    def pause(self, seconds: float) -> None:
        """Lets time pass. Raises what ended the recording, if anything has."""
        until = self.seconds + seconds
        while self.seconds < until:
            self._next(until - self.seconds)

    def wait(
        self,
        what: str,
        done: Callable[[Sample], bool],
        *,
        progress: Callable[[Sample], Hashable] = recovery,
        stall_seconds: float = STALL_SECONDS,
    ) -> Sample:
        """Waits for a sample that was begun after the call and is as wanted; returns it.

        Raises:
            StalledError: `progress` has been the same for `stall_seconds`.
            Exception: what ended the recording, if anything has.
        """
        clock, since = StallClock(), self.seconds
        while True:
            self._next(PERIOD_SECONDS)
            if not self.samples or self.last.seconds < since:
                continue
            if done(self.last):
                return self.last
            stalled = clock.observe(progress(self.last))
            if stalled > stall_seconds:
                raise StalledError(f"{what}: no progress for {stalled:.0f} s")

    def _next(self, seconds: float) -> None:
        """Waits for one more sample, so long at most."""
        with self._changed:
            count = len(self.samples)
            self._changed.wait_for(
                lambda: len(self.samples) > count or self._failure is not None, seconds
            )
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        try:
            while not self._stopped.is_set():
                began, computed = time.monotonic(), time.process_time()
                self._look()
                rest = _SHARE_OF_TIME * (time.process_time() - computed)
                self._stopped.wait(max(rest, began + PERIOD_SECONDS - time.monotonic()))
        except Exception as error:  # Raised again by the thread that waits for samples.
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _look(self) -> None:
        """Takes a sample. An API server that is too busy to answer costs one, but not for long."""
        seconds = self.seconds
        try:
            status = read_cluster(self._cluster, self._namespace, self._name)
            nodes = self._nodes()
        except ApiError:
            self.missed += 1
            if seconds - (self.last.seconds if self.samples else 0.0) > STALL_SECONDS:
                raise
            return
        with self._changed:
            self.samples.append(Sample(seconds=seconds, cluster=status, nodes=tuple(nodes)))
            self._changed.notify_all()

    def _nodes(self) -> list[NodeStatus]:
        addresses = read_addresses(self._cluster, self._namespace, self._name)
        if self._environment.local:
            return read_nodes_at(addresses, self._pool)
        return read_nodes(self._cluster, self._namespace, sorted(addresses))
