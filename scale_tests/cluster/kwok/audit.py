"""The requests of users to the API server, from its audit log."""

import json
import urllib.parse
from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from scale_tests.cluster.monitoring.exposition import READS

LEASES = "leases"
"""The kind that leader election writes all the time: no part of the cost of a cluster."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request that was answered; of a watch, that it was begun."""

    at: float
    """When it was answered, in seconds since 1970 by the API server's clock."""

    user: str
    verb: str
    resource: str
    """In the plural, with its subresource: `pods/status`."""

    namespace: str
    name: str
    code: int
    selector: str
    """The label selector of a list or a watch."""

    @property
    def writes(self) -> bool:
        """Whether it is a write."""
        return self.verb not in READS


def requests(lines: Iterable[str]) -> Iterator[Request]:
    """The requests of an audit log, in order, without a last line that is cut off."""
    for line in lines:
        if line.endswith("\n"):
            entry = json.loads(line)
            stage = "ResponseStarted" if entry["verb"] == "watch" else "ResponseComplete"
            if entry["stage"] == stage:
                yield _request(entry)


def of_clusters(found: Iterable[Request], user: str) -> list[Request]:
    """The requests of a user without those of leader election."""
    return [entry for entry in found if entry.user == user and entry.resource != LEASES]


def between(found: Iterable[Request], start: float, end: float) -> list[Request]:
    """The requests that were answered from `start` on, before `end`."""
    return [entry for entry in found if start <= entry.at < end]


def most_lists(found: Iterable[Request], seconds: float) -> dict[str, int]:
    """By kind, the most lists of one cluster's objects within so many seconds.

    Lists without a selector, with which a watch begins, count as one cluster's.
    """
    times: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for entry in found:
        if entry.verb == "list":
            times[entry.resource, entry.namespace, entry.selector].append(entry.at)
    most: dict[str, int] = {}
    for (resource, _, _), moments in sorted(times.items()):
        moments.sort()
        # Up to each, in the half-open interval of that length which it ends.
        within = (n - bisect(moments, at - seconds) for n, at in enumerate(moments, start=1))
        most[resource] = max(most.get(resource, 0), *within)
    return most


def _request(entry: dict[str, Any]) -> Request:
    target = entry.get("objectRef") or {}
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(entry["requestURI"]).query)
    return Request(
        at=datetime.fromisoformat(entry["stageTimestamp"]).timestamp(),
        user=entry["user"]["username"],
        verb=entry["verb"],
        resource="/".join(
            filter(None, (target.get("resource", ""), target.get("subresource", "")))
        ),
        namespace=target.get("namespace", ""),
        name=target.get("name", ""),
        code=(entry.get("responseStatus") or {}).get("code", 0),
        selector=",".join(query.get("labelSelector", ())),
    )
