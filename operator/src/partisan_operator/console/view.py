"""The contents of the page: one cluster as a document, from one reconcile.

A cluster has two parts. Its summary is in the list of all clusters; its details (nodes, links,
events) are made only while a viewer has the cluster open. Nodes are not trusted: names come from
the API server or the spec, kinds are known ones, texts and figures are bounded.
"""

from collections.abc import Iterable, Mapping
from itertools import islice
from statistics import quantiles
from typing import Any

from partisan_operator.children import naming
from partisan_operator.children.node_config import revision
from partisan_operator.children.overlay import kind_called
from partisan_operator.console.links import Links
from partisan_operator.console.patches import Document
from partisan_operator.console.values import figure, text
from partisan_operator.models import PartisanCluster, PartisanClusterStatus
from partisan_operator.models.quantities import milliseconds
from partisan_operator.models.status import WorkloadStatus
from partisan_operator.models.workload import AdCounter, Workload
from partisan_operator.observe.graph import links_of
from partisan_operator.observe.observation import Observation
from partisan_operator.observe.report import workload_reports
from partisan_operator.status.announcements import Announcement

VERSION = 1
"""Version of the documents. Fields may be added within a version; a reader ignores unknown ones."""

MAX_NODES = 4096
MAX_LINKS = 16_384
"""Most nodes and links of a cluster that the page gets; `omitted` counts the others."""


def summary(
    cluster: PartisanCluster, status: PartisanClusterStatus, *, rates: bool = True
) -> Document:
    """Return what the list of clusters shows of one; without `rates` those of channels are unknown.

    The status says 0 of them then, which is not drawn as a measured value.
    """
    graph = status.overlay
    parts: dict[str, Any] = {
        "phase": status.phase.value,
        "paused": cluster.spec.paused,
        "nodes": _figures(
            wanted=cluster.spec.replicas,
            exist=status.replicas,
            ready=status.ready,
            joined=status.joined,
            configured=status.configured,
        ),
        "conditions": {
            condition.type.value: {
                "status": condition.status,
                "reason": text(condition.reason, 64),
                "message": text(condition.message),
                "since": text(condition.last_transition_time, 40),
            }
            for condition in status.conditions
        },
        "overlay": None
        if graph is None
        else {
            "kind": graph.kind.value,
            "previous": graph.previous_kind.value if graph.previous_kind else None,
            **_figures(
                components=graph.components,
                isolated=graph.isolated,
                links=graph.links,
                mean_degree=graph.mean_degree,
            ),
        },
        "channels": {
            text(channel.name, 32): _figures(
                messages=channel.messages,
                bytes=channel.bytes,
                dropped=channel.dropped,
                queue_bytes=channel.queue_bytes,
                messages_per_second=channel.messages_per_second if rates else None,
                bytes_per_second=channel.bytes_per_second if rates else None,
            )
            for channel in status.channels
        },
        "run": None if status.workload is None else _run(cluster, status.workload),
        "timings": status.timings.to_wire(),
    }
    return _without_none(parts)


def details(
    cluster: PartisanCluster,
    status: PartisanClusterStatus,
    observation: Observation,
    events: Document,
    rates: Links,
) -> Document:
    """Return what the page of one cluster shows in addition: nodes, links, values, events."""
    wanted = naming.pod_names(cluster.name, cluster.spec.replicas)
    leaving = sorted(observation.endpoints.keys() - set(wanted))
    names = [*wanted, *leaving]
    shown = names[:MAX_NODES]
    links = links_of(
        {
            name: observation.seen[name].report.overlay.active
            for name in shown
            if name in observation.seen
        }
    )
    run = None if status.workload is None else status.workload.run
    values: list[float] = [
        part.value for part in workload_reports(observation.reports(wanted), run or "").values()
    ]
    current, expected = revision(cluster), frozenset(wanted)
    parts: dict[str, Any] = {
        "observed_at": round(observation.at.timestamp(), 3),
        "nodes": {
            name: _node(name, observation, current, leaving=name not in expected) for name in shown
        },
        "links": {
            " ".join(link): rates[link].document if link in rates else {}
            for link in islice(sorted(links), MAX_LINKS)
        },
        "omitted": _figures(
            nodes=len(names) - len(shown),
            links=max(0, len(links) - MAX_LINKS),
        ),
        "values": _band(values) if run and values else None,
        "events": events,
    }
    # The parts, of thousands of nodes and links, hold none themselves.
    return {name: part for name, part in parts.items() if part is not None}


def event(announcement: Announcement, at: float) -> Document:
    """Return an Event of a cluster; `at` in seconds since 1970."""
    return {
        "at": round(at, 3),
        "type": announcement.type,
        "reason": text(announcement.reason, 64),
        "message": text(announcement.message),
    }


def numbered(events: Iterable[tuple[int, Document]]) -> Document:
    """Return Events by their numbers."""
    return {str(number): content for number, content in events}


def _figures(**values: float | None) -> Document:
    return {name: found for name, value in values.items() if (found := figure(value)) is not None}


def _without_none(parts: Mapping[str, Any]) -> Document:
    return {
        key: _without_none(value) if isinstance(value, Mapping) else value
        for key, value in parts.items()
        if value is not None
    }


def _run(cluster: PartisanCluster, run: WorkloadStatus) -> dict[str, Any]:
    workload = cluster.spec.workload
    counter = None if workload is None else workload.ad_counter
    return {
        "id": text(run.run, 64),
        "module": text(run.module, 64),
        "phase": run.phase,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "overcounting_percent": None
        if run.overcounting_percent is None
        else figure(run.overcounting_percent),
        **_figures(
            value=run.value,
            threshold=run.threshold,
            increments=run.increments_sum,
            lost=run.lost_increments,
            replaced_nodes=run.replaced_nodes,
            bytes=run.bytes,
        ),
        **({} if workload is None or counter is None else _counter(workload, counter)),
    }


def _counter(workload: Workload, counter: AdCounter) -> dict[str, Any]:
    return {
        "synchronization": workload.mode.value,
        **_figures(
            ads=counter.ads,
            increment_seconds=milliseconds(counter.increment_interval) / 1000,
            propagation_seconds=milliseconds(counter.propagation_interval) / 1000,
        ),
    }


def _node(name: str, observation: Observation, current: str, *, leaving: bool) -> Document:
    endpoint, seen = observation.endpoints.get(name), observation.seen.get(name)
    if endpoint is None:
        return {"state": "absent"}
    parts: dict[str, Any] = {
        "state": _state(
            ready=endpoint.ready,
            answers=seen is not None,
            joined=seen is not None and seen.report.overlay.joined,
            leaving=leaving,
        ),
        "zone": text(endpoint.zone, 63) or None,
    }
    if seen is not None:
        overlay = seen.report.overlay
        channels = seen.report.channels.values()
        parts |= {
            "version": text(seen.report.version, 64) or None,
            "kind": _kind(overlay.kind),
            "previous": _kind(overlay.former or ""),
            "incarnation": figure(seen.report.incarnation),
            "configured": seen.report.revision == current,
            "queue_bytes": figure(sum(channel.queue_bytes for channel in channels)),
            "dropped": figure(sum(channel.dropped for channel in channels)),
        }
    return _without_none(parts)


def _state(*, ready: bool, answers: bool, joined: bool, leaving: bool) -> str:
    """Return the state of a node whose pod has an address: the colour of its dot."""
    if leaving:
        return "leaving"
    if not answers:
        return "silent" if ready else "starting"
    if not joined:
        return "joining"
    return "joined" if ready else "unready"


def _kind(name: str) -> str | None:
    kind = kind_called(name)
    return None if kind is None else kind.value


def _band(values: list[float]) -> Document:
    """Return the replicas' values as least, quartiles and greatest."""
    several = len(values) > 1
    lower, median, upper = quantiles(values, method="inclusive") if several else values * 3
    return _figures(
        count=len(values),
        least=min(values),
        lower=lower,
        median=median,
        upper=upper,
        greatest=max(values),
    )
