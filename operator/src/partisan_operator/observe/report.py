"""The part of a node's answer to `GET /status` that the operator reads.

Nodes are not trusted: figures are bounded and names are short, so that a faulty node can distort
only the figures of its own cluster.
"""

from collections.abc import Mapping
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

_LIMIT = 2**63 - 1
_MOST_SUPERSEDED = 4096


def _clamped(value: Any) -> Any:
    return min(max(value, 0), _LIMIT) if isinstance(value, int) else value


def _bounded(value: Any) -> Any:
    return dict(islice(value.items(), _MOST_SUPERSEDED)) if isinstance(value, dict) else value


Count = Annotated[int, Field(ge=0, le=_LIMIT)]
Gauge = Annotated[int, BeforeValidator(_clamped)]
"""A traffic counter. Clamped if out of range, so that the rest of the report stays usable."""

Name = Annotated[str, Field(max_length=128)]
UnixTime = Annotated[float, Field(ge=0, lt=2**33)]
"""Seconds since 1970, by the node's clock."""


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class OverlayReport(_Report):
    """The node's place in the overlay."""

    kind: Name = ""
    former: Name | None = None
    """The previous overlay, while the node still runs it next to the new one."""

    joined: bool = False
    active: Annotated[tuple[Name, ...], Field(max_length=4096)] = ()


class ChannelReport(_Report):
    """Traffic of one channel since the node started."""

    sent_messages: Gauge = 0
    sent_bytes: Gauge = 0
    received_messages: Gauge = 0
    received_bytes: Gauge = 0
    dropped: Gauge = 0
    queue_bytes: Gauge = 0


class PeerChannelReport(_Report):
    """Traffic of one channel to one peer, since the first of its present connections."""

    sent_messages: Gauge = 0
    sent_bytes: Gauge = 0


class TrafficReport(_Report):
    """Traffic to single peers: the busiest ones."""

    peers: Annotated[
        dict[Name, Annotated[dict[Name, PeerChannelReport], Field(max_length=64)]],
        Field(max_length=256),
    ] = Field(default_factory=dict)


class WorkloadReport(_Report):
    """The node's part in the run."""

    kind: Name = "none"
    run: Name = ""
    phase: Literal["waiting", "running", "finished"] = "waiting"
    actor: Name = ""
    increments: Count = 0
    """Increments of `actor` itself."""

    value: Count = 0
    """The node's replica of the counter, summed over ads and actors."""

    threshold: Count = 0
    digest: Name = ""
    """Equal on two nodes exactly when their replicas are equal."""

    converged: bool = False
    started_at: UnixTime | None = None
    finished_at: UnixTime | None = None
    superseded: Annotated[dict[Name, Count], BeforeValidator(_bounded)] = Field(
        default_factory=dict
    )
    """Entries in the node's replica of actors that a later incarnation of their node replaced. Each
    restore of a backup adds one for each node, so a surplus is left out, and the report read."""


class TlsReport(_Report):
    """Certificates that the node uses for new connections: their fingerprints."""

    certificate: Name = ""
    authorities: Annotated[tuple[Name, ...], Field(max_length=64)] = ()


class NodeReport(_Report):
    """A node's report."""

    node: Name
    incarnation: Count
    version: Name = ""
    """Version of the node's image."""

    revision: Name = ""
    """The configuration that the node follows."""

    overlay: OverlayReport = OverlayReport()
    tls: TlsReport | None = None
    """None without TLS, and for a node that does not report it."""

    interface: Gauge = 1
    """Version of the HTTP interface of the node's image: see `children.node_http`."""

    channels: Annotated[dict[Name, ChannelReport], Field(max_length=64)] = Field(
        default_factory=dict
    )
    traffic: TrafficReport | None = None
    """None if it was not asked for, and for a node that does not report it."""

    sync_payload_bytes: Gauge = 0
    workload: WorkloadReport | None = None


def workload_reports(reports: Mapping[str, NodeReport], run: str) -> dict[str, WorkloadReport]:
    """Return the nodes' parts in a run, without nodes that still report another run."""
    return {
        pod: report.workload
        for pod, report in reports.items()
        if report.workload is not None and report.workload.run == run
    }
