"""`PartisanCluster.status`: the observed state.

Over 300 lines: most of it is the text of `kubectl explain`, next to the fields.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from partisan_operator.models.base import Resource, keyed_by
from partisan_operator.models.overlay import OverlayKind
from partisan_operator.models.workload import AD_COUNTER

Timestamp = Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})]
"""RFC 3339, UTC."""

TriState = Literal["True", "False", "Unknown"]

MAX_RETIRED = 512
"""Most departed actors with entries of their own. Those beyond are summed by node."""


class Phase(StrEnum):
    """The cluster's state in one word, for people; programs read the conditions."""

    PENDING = "Pending"
    FORMING = "Forming"
    READY = "Ready"
    RUNNING = "Running"
    CONVERGED = "Converged"
    UPDATING = "Updating"
    DEGRADED = "Degraded"
    PAUSED = "Paused"


class Rotation(StrEnum):
    """How far the replacement of a cluster's own authority is."""

    SETTLED = "Settled"
    DISTRIBUTING = "DistributingAuthority"
    REPLACING = "ReplacingCertificate"
    RETIRING = "RetiringAuthority"


class ConditionType(StrEnum):
    """The conditions that every cluster has; `kubectl wait --for=condition=...` takes them."""

    READY = "Ready"
    PROGRESSING = "Progressing"
    OVERLAY_CONNECTED = "OverlayConnected"
    WORKLOAD_CONVERGED = "WorkloadConverged"
    DEGRADED = "Degraded"
    PAUSED = "Paused"


class Condition(Resource):
    """One aspect of the cluster's state."""

    type: ConditionType
    """What the condition is about."""

    status: TriState
    """Whether it holds: True, False or Unknown."""

    reason: Annotated[str, Field(max_length=64)]
    """Why, in one word that does not change between versions."""

    message: Annotated[str, Field(max_length=2048)]
    """Why, for people: what is wrong and what to do."""

    last_transition_time: Timestamp
    """When `status` last changed."""

    observed_generation: int | None = None
    """The generation of the spec that the condition was computed from."""


class OverlayStatus(Resource):
    """The graph of the overlay: nodes, and the links that either end reports."""

    kind: OverlayKind
    """The overlay in force: the one that most nodes run."""

    previous_kind: OverlayKind | None = None
    """While the cluster moves from one overlay, or one set of parameters, to another: the overlay
    that some nodes still run, each until it has joined the new one."""

    also_running: OverlayKind | None = None
    """Deprecated: the same as `previousKind`. Not written by the next version."""

    components: int
    """Connected components among the nodes that answered; 1 is what one wants."""

    isolated: int
    """Nodes without any link."""

    mean_degree: float
    """Links per node, times two. As of `observedAt`."""

    links: int
    """Links in all. As of `observedAt`."""

    @model_validator(mode="before")
    @classmethod
    def _read_deprecated(cls, value: Any) -> Any:
        # A status written by the previous version has only the deprecated field.
        if isinstance(value, dict) and "alsoRunning" in value:
            return {"previousKind": value["alsoRunning"], **value}
        return value


class ChannelStatus(Resource):
    """Traffic of one channel, summed over the nodes, as of `observedAt`."""

    name: Annotated[str, Field(max_length=32)]
    """The channel."""

    messages: int
    """Messages sent since the nodes started."""

    bytes: int
    """Bytes sent since the nodes started."""

    dropped: int
    """Messages dropped since the nodes started."""

    queue_bytes: int
    """Bytes that wait to be sent."""

    messages_per_second: float
    """Messages sent per second between the last two observations."""

    bytes_per_second: float
    """Bytes sent per second between the last two observations."""


class RetiredActor(Resource):
    """An actor that counted in this run and is gone: its pod was replaced or scaled away."""

    actor: Annotated[str, Field(max_length=128)]
    """The actor's identity: node and incarnation."""

    increments: int
    """Its own increments when it was last seen."""

    counted: int | None = None
    """Its entry in the counters of the others, where they report it."""


class FoldedActors(Resource):
    """Actors of one node that counted in this run and are gone, added up."""

    node: Annotated[str, Field(max_length=64)]
    """The node."""

    actors: int
    """How many there were."""

    last: int
    """The incarnation of the latest of them."""

    increments: int
    """Their own increments when they were last seen, of those of which others hold entries."""

    counted: int
    """Their entries in the counters of the others."""

    unreported: int = 0
    """Increments, when they were last seen, of those of which no node reports an entry."""


class WorkloadStatus(Resource):
    """The current run of the workload."""

    run: Annotated[str, Field(max_length=64)]
    """Identity of the run: it changes when `spec.workload` does."""

    module: Annotated[str, Field(max_length=64)] = AD_COUNTER
    """What the nodes run: adcounter, or a module of one's own."""

    phase: Literal["Waiting", "Running", "Finished"]
    """Waiting for the overlay, running, or finished on every node."""

    started_at: Timestamp | None = None
    """When the run started."""

    finished_at: Timestamp | None = None
    """When the last node finished."""

    observed_at: Timestamp | None = None
    """When a node last told of the run: the figures are of this time, and stay while no node
    answers. Not written by itself, as `status.observedAt`."""

    value: int = 0
    """The greatest that any node reports, or last reported: of the ad counter the counter, summed
    over ads; of a workload of one's own the figure that it calls its value."""

    increments_sum: int = 0
    """Increments that the nodes say they made, those of vanished actors included."""

    threshold: int = 0
    """The value that ends the run: of the ad counter the impressions of all ads; of a workload of
    one's own the greatest that any node reports, 0 where it has none."""

    overcounting_percent: float | None = None
    """By how much the final value exceeds the threshold, in percent."""

    lost_increments: int = 0
    """Increments that a vanished node was seen to have made and that no other node had learnt of
    when the run ended. While the run goes on, a provisional figure."""

    replaced_nodes: int = 0
    """Actors that vanished during the run."""

    bytes: int = 0
    """Payload that the nodes sent to synchronise the counter."""

    retired: Annotated[tuple[RetiredActor, ...], Field(max_length=MAX_RETIRED)] = ()
    """The actors that vanished, kept here so that a restart of the operator forgets none. Where
    they are more than fit, the oldest move to `folded`."""

    folded: Annotated[tuple[FoldedActors, ...], Field(max_length=1024)] = ()
    """The actors that vanished and are in `retired` no more, added up by node: one entry for each
    node at the most, however long the run and however often the cluster is scaled."""


class ClusterCaStatus(Resource):
    """The authority that the operator makes for the cluster, and its certificate."""

    rotation: Rotation = Rotation.SETTLED
    """How far the replacement of the authority is: Settled, DistributingAuthority (nodes come to
    believe the new one besides the old one), ReplacingCertificate, RetiringAuthority (nodes come to
    show a certificate of the new one)."""

    loaded: int = 0
    """Nodes that use what the Secret NAME-tls holds. They follow it within two minutes or so."""

    certificate_expires_at: Timestamp | None = None
    """When the nodes' certificate ends; the next one comes spec.security.tls.clusterCa.renewBefore
    earlier."""

    authority_expires_at: Timestamp | None = None
    """When the authority that signs ends."""


class Timings(Resource):
    """When the milestones were first reached, of this generation and of this run."""

    applied_at: Timestamp | None = None
    """When this generation of the spec was made (the creation) or seen (a change)."""

    ready_at: Timestamp | None = None
    """When all pods of this generation were first seen ready."""

    joined_at: Timestamp | None = None
    """When all nodes of this generation were first seen joined in one component."""

    started_at: Timestamp | None = None
    """When the run started."""

    converged_at: Timestamp | None = None
    """When every node had finished with the same counter, by the last node's clock."""


class PartisanClusterStatus(Resource):
    """The observed state of a cluster of overlay nodes."""

    observed_generation: int | None = None
    """The generation of the spec that this status was computed from."""

    observed_at: Timestamp | None = None
    """When this status was written. A steady cluster is not written to: the figures that always
    move (traffic, number of links) are as of this time, the live ones are in the metrics."""

    replicas: int = 0
    """Pods that exist."""

    ready: int = 0
    """Pods that are ready."""

    joined: int = 0
    """Nodes that say they are in the overlay."""

    updated: int = 0
    """Pods made from the current template."""

    configured: int = 0
    """Nodes that follow the overlay, the parallelism and the size that the spec asks for."""

    selector: Annotated[str, Field(max_length=256)] = ""
    """Label selector of the pods, for the scale subresource."""

    phase: Phase = Phase.PENDING
    """The state in one word."""

    converged: TriState = "Unknown"
    """Whether every node finished the run with the same counter; Unknown without a workload, and
    while no node answers."""

    overlay: OverlayStatus | None = None
    """The overlay's graph."""

    channels: Annotated[
        tuple[ChannelStatus, ...],
        Field(
            max_length=32,
            json_schema_extra=keyed_by("name"),
        ),
    ] = ()
    """Traffic by channel."""

    workload: WorkloadStatus | None = None
    """The current run of the workload; absent without one."""

    cluster_ca: ClusterCaStatus | None = None
    """The cluster's own authority; absent without spec.security.tls.clusterCa."""

    timings: Timings = Timings()
    """When the milestones were reached."""

    conditions: Annotated[
        tuple[Condition, ...],
        Field(
            max_length=16,
            json_schema_extra=keyed_by("type"),
        ),
    ] = ()
    """Ready, Progressing, OverlayConnected, WorkloadConverged, Degraded, Paused."""

    def condition(self, kind: ConditionType) -> Condition | None:
        """Return the condition of that type, if it was ever set."""
        return next((entry for entry in self.conditions if entry.type == kind), None)
