"""`PartisanCluster.status`: the observed state.

Over 300 lines: most of it is the text of `kubectl explain`, next to the fields.
"""

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from partisan_operator.models.base import Resource, keyed_by
from partisan_operator.models.overlay import OverlayKind
from partisan_operator.models.workload import AD_COUNTER

Timestamp = Annotated[str, Field(max_length=40, json_schema_extra={"format": "date-time"})]
"""RFC 3339, UTC."""

TriState = Literal["True", "False", "Unknown"]

MAX_COUNT = 2**63 - 1
"""The greatest integer that the API server stores. It refuses a status with a greater one as a
whole, and figures of nodes, of which some may be faulty, are summed."""

MAX_RETIRED = 512
"""Most departed actors with entries of their own. Further ones are summed by node."""


class Phase(StrEnum):
    """The cluster's state in one word, for people. Programs read the conditions."""

    PENDING = "Pending"
    FORMING = "Forming"
    READY = "Ready"
    RUNNING = "Running"
    CONVERGED = "Converged"
    UPDATING = "Updating"
    DEGRADED = "Degraded"
    PAUSED = "Paused"


class Rotation(StrEnum):
    """Progress of the replacement of a cluster's own authority."""

    SETTLED = "Settled"
    DISTRIBUTING = "DistributingAuthority"
    REPLACING = "ReplacingCertificate"
    RETIRING = "RetiringAuthority"


class FleetRollout(StrEnum):
    """How a cluster came to the operator's default image that its pods' template has."""

    CREATED = "Created"
    ROLLING = "Rolling"
    ROLLED_OUT = "RolledOut"


class ConditionType(StrEnum):
    """The conditions of every cluster, for `kubectl wait --for=condition=...`."""

    READY = "Ready"
    PROGRESSING = "Progressing"
    OVERLAY_CONNECTED = "OverlayConnected"
    WORKLOAD_CONVERGED = "WorkloadConverged"
    DEGRADED = "Degraded"
    PAUSED = "Paused"
    DEVELOPMENT = "Development"
    """Only of a cluster with `spec.development`."""


class Condition(Resource):
    """One aspect of the cluster's state."""

    type: ConditionType
    """Type of the condition."""

    status: TriState
    """Whether it holds: True, False or Unknown."""

    reason: Annotated[str, Field(max_length=64)]
    """The cause in one word, which does not change between versions."""

    message: Annotated[str, Field(max_length=2048)]
    """The cause and its remedy, for people."""

    last_transition_time: Timestamp
    """When `status` last changed."""

    observed_generation: int | None = None
    """The generation of the spec that the condition was computed from."""


class OverlayStatus(Resource):
    """The graph of the overlay: nodes, and the links that either end reports."""

    kind: OverlayKind
    """The overlay in force: the one that most nodes run."""

    previous_kind: OverlayKind | None = None
    """During a switch to another overlay or other parameters: the overlay that some nodes still
    run, each until it has joined the new one."""

    also_running: OverlayKind | None = None
    """Deprecated: the same as `previousKind`. Not written by the next version."""

    components: int
    """Connected components among the nodes that answered; 1 in a healthy overlay."""

    isolated: int
    """Nodes without any link."""

    mean_degree: float
    """Links per node, times two. As of `observedAt`."""

    links: int
    """Number of links. As of `observedAt`."""

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
    """Bytes queued for sending."""

    messages_per_second: float
    """Messages sent per second between the last two observations."""

    bytes_per_second: float
    """Bytes sent per second between the last two observations."""


class RetiredActor(Resource):
    """An actor that counted in this run and departed: its pod was replaced or removed."""

    actor: Annotated[str, Field(max_length=128)]
    """The actor's identity: node and incarnation."""

    increments: int
    """Its last observed increments."""

    counted: int | None = None
    """Its entry in the counters of other nodes, if they report it."""


class FoldedActors(Resource):
    """Sum over departed actors of one node that counted in this run."""

    node: Annotated[str, Field(max_length=64)]
    """The node."""

    actors: int
    """Number of these actors."""

    last: int
    """The incarnation of the latest of them."""

    increments: int
    """Last observed increments of those whose entries other nodes hold."""

    counted: int
    """Their entries in the counters of other nodes."""

    unreported: int = 0
    """Last observed increments of those whose entries no node reports."""


class WorkloadStatus(Resource):
    """The current run of the workload."""

    run: Annotated[str, Field(max_length=64)]
    """Identity of the run: it changes when `spec.workload` does."""

    module: Annotated[str, Field(max_length=64)] = AD_COUNTER
    """The module that the nodes run: adcounter, or a custom one."""

    phase: Literal["Waiting", "Running", "Finished"]
    """Waiting for the overlay, running, or finished on every node."""

    started_at: Timestamp | None = None
    """When the run started."""

    finished_at: Timestamp | None = None
    """When the last node finished."""

    observed_at: Timestamp | None = None
    """When a node last reported on the run. The figures are of this time, and stay while no node
    answers. Like `status.observedAt`, it is written only together with other changes."""

    value: int = 0
    """The greatest value that any node reports, or last reported: for the ad counter the sum over
    ads, for a custom workload its own `value`."""

    increments_sum: int = 0
    """Increments that the nodes report to have made, those of departed actors included."""

    threshold: int = 0
    """The value that ends the run: for the ad counter the impressions of all ads, for a custom
    workload the greatest threshold that any node reports, 0 if there is none."""

    overcounting_percent: float | None = None
    """By how much the final value exceeds the threshold, in percent."""

    lost_increments: int = 0
    """Increments of departed actors that had reached no other node when the run ended. Provisional
    while the run continues."""

    replaced_nodes: int = 0
    """Number of actors that departed during the run."""

    bytes: int = 0
    """Payload that the nodes sent to synchronise the counter."""

    retired: Annotated[tuple[RetiredActor, ...], Field(max_length=MAX_RETIRED)] = ()
    """The departed actors, so that a restart of the operator loses none. Beyond a bound, the oldest
    move to `folded`."""

    folded: Annotated[tuple[FoldedActors, ...], Field(max_length=1024)] = ()
    """The departed actors that are no longer in `retired`, summed by node: at most one entry for
    each node, however long the run and however often the cluster is scaled."""


class DefaultImageStatus(Resource):
    """The operator's default image, as far as this cluster has followed it."""

    image: Annotated[str, Field(max_length=512)]
    """The image in the pods' template: the previous one while a newer default waits."""

    rollout: FleetRollout
    """Created: no change of the default image led to it; Rolling: pods are being replaced;
    RolledOut: all nodes have run it in one overlay."""


class ClusterCaStatus(Resource):
    """The cluster's own authority and the nodes' certificate."""

    rotation: Rotation = Rotation.SETTLED
    """Progress of the replacement of the authority: Settled, DistributingAuthority (nodes begin to
    trust the new one in addition to the old one), ReplacingCertificate, RetiringAuthority (nodes
    switch to a certificate of the new one)."""

    loaded: int = 0
    """Nodes that use the present contents of the Secret NAME-tls. They follow a change within about
    two minutes."""

    certificate_expires_at: Timestamp | None = None
    """When the nodes' certificate ends; the next one comes spec.security.tls.clusterCa.renewBefore
    earlier."""

    authority_expires_at: Timestamp | None = None
    """When the authority that signs ends."""


class Timings(Resource):
    """When this generation and this run first reached each milestone."""

    applied_at: Timestamp | None = None
    """When this generation of the spec was created, or for a change observed."""

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
    """When this status was written. Figures that always move (traffic, number of links) are as of
    this time: the status of a settled cluster is not rewritten for them. Current figures are in the
    metrics."""

    replicas: int = 0
    """Pods that exist."""

    ready: int = 0
    """Pods that are ready."""

    joined: int = 0
    """Nodes that report that they have joined the overlay."""

    updated: int = 0
    """Pods of the current template."""

    configured: int = 0
    """Nodes that follow the overlay, parallelism and size in the spec."""

    selector: Annotated[str, Field(max_length=256)] = ""
    """Label selector of the pods, for the scale subresource."""

    phase: Phase = Phase.PENDING
    """The state in one word."""

    converged: TriState = "Unknown"
    """Whether every node finished the run with the same counter; Unknown without a workload and
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

    default_image: DefaultImageStatus | None = None
    """The operator's default image in the pods' template; absent with spec.image."""

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

    @property
    def degraded(self) -> str:
        """Reason of the condition `Degraded`; empty while that is not True."""
        found = self.condition(ConditionType.DEGRADED)
        return found.reason if found is not None and found.status == "True" else ""
