"""The work of the operator: from its metrics, samples, and the API server's audit log."""

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from scale_tests.cluster.kube import ApiError, Cluster
from scale_tests.cluster.kwok import audit
from scale_tests.cluster.kwok.audit import Request
from scale_tests.cluster.kwok.clusters import statuses
from scale_tests.cluster.kwok.operator_process import RESYNC_SECONDS, USER, OperatorProcess
from scale_tests.cluster.monitoring.exposition import READS, Page, quantile
from scale_tests.cluster.wait import repeating
from scale_tests.host import procfs
from scale_tests.host.units import MIB

RECONCILE = "partisan_operator_reconcile_seconds"
_LATE = 1.0
"""Seconds by which two lists of one resync interval may be closer than that: they are counted when
they are answered, and one is answered faster than another."""


@dataclass(frozen=True)
class Mark:
    """A moment, and the operator's metrics of it."""

    at: float
    """Seconds since 1970."""

    page: Page
    waited_seconds: float
    """For which the operator had no processor and wanted one, since it started."""


@dataclass(frozen=True, kw_only=True)
class Phase:
    """The work between two marks, without leader election."""

    seconds: float
    cpu_seconds: float
    """Of the operator."""

    waited_seconds: float
    """For which it had no processor and wanted one."""

    reconciles: int
    reconcile_p50: float | None
    reconcile_p99: float | None
    """In seconds, from the operator's histogram; None beyond its last bound."""

    calls: dict[str, int]
    """The operator's requests to the API server by verb."""

    writes: int
    most_lists: dict[str, int]
    """By kind, the most lists of one cluster's objects within a resync interval."""


def mark(operator: OperatorProcess) -> Mark:
    """The present. Raises OSError."""
    return Mark(time.time(), operator.page(), operator.waited_seconds())


def writes_so_far(page: Page) -> int:
    """The operator's writes since its start, by its own account. Leader election is left out."""
    return round(sum(count for verb, count in page.calls().items() if verb not in READS))


def phase(start: Mark, end: Mark, found: Sequence[Request]) -> Phase:
    """The work from one mark to another, out of all the requests that were found."""
    mine = audit.between(audit.of_clusters(found, USER), start.at, end.at)

    def grown(name: str) -> float:
        return end.page.total(name) - start.page.total(name)

    return Phase(
        seconds=round(end.at - start.at, 3),
        cpu_seconds=round(grown("process_cpu_seconds_total"), 3),
        waited_seconds=round(end.waited_seconds - start.waited_seconds, 3),
        reconciles=round(grown(f"{RECONCILE}_count")),
        reconcile_p50=_finite(quantile(0.5, start.page, end.page, RECONCILE)),
        reconcile_p99=_finite(quantile(0.99, start.page, end.page, RECONCILE)),
        calls=dict(sorted(Counter(entry.verb for entry in mine).items())),
        writes=sum(entry.writes for entry in mine),
        most_lists=audit.most_lists(mine, RESYNC_SECONDS - _LATE),
    )


def _finite(seconds: float) -> float | None:
    return round(seconds, 4) if math.isfinite(seconds) else None


@contextmanager
def sampling(cluster: Cluster, operator: OperatorProcess) -> Iterator[list[dict[str, float]]]:
    """Takes a sample every second until the block is left.

    Of the ready pods of all clusters, and of the operator's resident memory in MiB and processor
    time since its start.
    """
    samples: list[dict[str, float]] = []
    began = time.monotonic()

    def take() -> None:
        with suppress(ApiError):  # A busy API server: the next second has another sample.
            found = statuses(cluster)
            samples.append(
                {
                    "second": round(time.monotonic() - began, 1),
                    "ready": sum(item.get("status", {}).get("ready") or 0 for item in found),
                    "memory_mib": round(procfs.memory(operator.pid)["Rss"] / MIB, 1),
                    "cpu_seconds": procfs.cpu_seconds(operator.pid),
                }
            )

    with repeating(take, period_seconds=1.0):
        yield samples
