"""The time that pods take to start, and what the creator's rate limit allows.

Both come from the API server's audit log: from a pod's creation to its first report as running.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scale_tests.cluster.kwok.audit import Request
from scale_tests.cluster.kwok.machines import USER as KWOK

CREATOR = "system:serviceaccount:kube-system:statefulset-controller"
"""The user that creates pods. All its requests, events included, pass one rate limiter."""

REQUESTS_PER_SECOND, BURST = 20.0, 30
"""Kubernetes' own limits of a controller: a bucket of tokens, full when a cluster is applied."""


@dataclass(frozen=True, kw_only=True)
class Startup:
    """The start of many pods."""

    pods: int
    p50_seconds: float | None
    """From a pod's being made to its being reported as running, at the API server; None without
    pods."""

    p99_seconds: float | None
    creator_requests: int
    """The controller's requests until the last pod was created, events included."""

    allowed_seconds: float
    """The least time for so many requests at Kubernetes' own limits."""


def measure(found: Sequence[Request]) -> Startup:
    """Reads the starts out of the requests during the creation of pods."""
    made: dict[tuple[str, str], float] = {}
    seconds: dict[tuple[str, str], float] = {}
    for entry in found:
        pod = entry.namespace, entry.name
        if not 200 <= entry.code < 300:
            continue
        if (entry.user, entry.verb, entry.resource) == (CREATOR, "create", "pods"):
            made[pod] = entry.at
        elif pod in made and (entry.user, entry.resource) == (KWOK, "pods/status"):
            seconds.setdefault(pod, entry.at - made[pod])
    last = max(made.values(), default=-math.inf)
    asked = sum(entry.user == CREATOR and entry.at <= last for entry in found)
    return Startup(
        pods=len(made),
        p50_seconds=_rank(seconds.values(), 0.5),
        p99_seconds=_rank(seconds.values(), 0.99),
        creator_requests=asked,
        allowed_seconds=round(max(0.0, (asked - BURST) / REQUESTS_PER_SECOND), 2),
    )


def _rank(values: Iterable[float], share: float) -> float | None:
    """The value that this share of all do not exceed."""
    ordered = sorted(values)
    if not ordered:
        return None
    return round(ordered[math.ceil(share * len(ordered)) - 1], 3)
