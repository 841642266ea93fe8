"""Samples of a cluster: taken on a thread of their own, waited for, and summed up.

A sample is the cluster at one time, as operator and nodes report it.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

from scale_tests.cluster.kube import ApiError
from scale_tests.cluster.nodes import NodeStatus
from scale_tests.cluster.partisan import ClusterStatus
from scale_tests.cluster.wait import STALL_SECONDS, StallClock, StalledError

PERIOD_SECONDS = 1.0
_SHARE_OF_TIME = 3
"""The sampler rests at least this many times as long as it computed, so that reading hundreds of
nodes leaves the machine to them."""


@dataclass(frozen=True, kw_only=True)
class Observation:
    """The operator's status, and right after it the reports of the nodes that answered."""

    seconds: float
    """Its beginning, in seconds since the sampler was made."""

    cluster: ClusterStatus
    nodes: tuple[NodeStatus, ...]

    @property
    def joined(self) -> int:
        """Nodes that report that they are in the overlay."""
        return sum(node.joined for node in self.nodes)

    @property
    def values(self) -> tuple[int, int]:
        """The smallest and the largest count that a replica holds."""
        values = [node.value for node in self.nodes]
        return (min(values), max(values)) if values else (0, 0)


Sample = TypeVar("Sample", bound=Observation)


class Sampler(Generic[Sample]):
    """Takes samples while its context lasts: `take` makes one that begins at a time in seconds.

    An API server that does not answer costs a sample, and ends the sampling after `STALL_SECONDS`.
    """

    def __init__(self, take: Callable[[float], Sample]) -> None:
        self.samples: list[Sample] = []
        self.missed = 0
        """Samples that the API server did not answer."""
        self._take = take
        self._started = time.monotonic()
        self._changed = threading.Condition()
        self._stopped = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="sampler")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stopped.set()
        self._thread.join()

    @property
    def seconds(self) -> float:
        """The time, as samples have it."""
        return time.monotonic() - self._started

    @property
    def last(self) -> Sample:
        """The newest sample, of which there has to be one."""
        return self.samples[-1]

    def pause(self, seconds: float) -> None:
        """Lets time pass. Raises what ended the sampling, if anything has."""
        until = self.seconds + seconds
        while self.seconds < until:
            self._next(until - self.seconds)

    def wait(
        self,
        what: str,
        done: Callable[[Sample], bool],
        *,
        progress: Callable[[Sample], Hashable],
        stall_seconds: float = STALL_SECONDS,
        seen: Callable[[Sample], object] = lambda _sample: None,
    ) -> Sample:
        """Waits for a sample that was begun after the call and is as wanted; returns it.

        `seen` is called with each of these samples. Raises StalledError when `progress` has been
        the same for `stall_seconds`, and what ended the sampling, if anything has.
        """
        clock, since = StallClock(), self.seconds
        while True:
            self._next(PERIOD_SECONDS)
            if not self.samples or self.last.seconds < since:
                continue
            sample = self.last
            seen(sample)
            if done(sample):
                return sample
            stalled = clock.observe(progress(sample))
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
                self._sample()
                rest = _SHARE_OF_TIME * (time.process_time() - computed)
                self._stopped.wait(max(rest, began + PERIOD_SECONDS - time.monotonic()))
        except Exception as error:  # Raised again by the thread that waits for samples.
            with self._changed:
                self._failure = error
                self._changed.notify_all()

    def _sample(self) -> None:
        seconds = self.seconds
        try:
            sample = self._take(seconds)
        except ApiError:
            self.missed += 1
            if seconds - (self.last.seconds if self.samples else 0.0) > STALL_SECONDS:
                raise
            return
        with self._changed:
            self.samples.append(sample)
            self._changed.notify_all()


def totals(
    observations: Sequence[Observation], counters: Callable[[NodeStatus], Mapping[str, int]]
) -> list[tuple[float, Counter[str]]]:
    """Counters summed over all nodes, with the seconds of each observation.

    A node's counters start again at 0 with its process; the counts of its previous incarnations
    stay in the sum.
    """
    sums: Counter[str] = Counter()
    last: dict[str, tuple[int, Mapping[str, int]]] = {}
    line = []
    for observation in observations:
        for node in observation.nodes:
            incarnation, before = last.get(node.name, (node.incarnation, {}))
            now = counters(node)
            sums.update(now)
            if incarnation == node.incarnation:
                sums.subtract(before)
            last[node.name] = (node.incarnation, now)
        line.append((observation.seconds, sums.copy()))
    return line


def slopes(line: Sequence[tuple[float, float]], window: float) -> Iterator[tuple[float, float]]:
    """The rise of a line per unit of time, against time, over the `window` before it."""
    start = 0
    for end, (at, value) in enumerate(line):
        while start + 1 < end and at - line[start + 1][0] >= window:
            start += 1
        elapsed = at - line[start][0]
        if elapsed > 0:
            yield at, (value - line[start][1]) / elapsed
