"""`PartisanCluster.spec`: the desired state.

Over 300 lines: most of it is the text of `kubectl explain`, next to the fields and rules.
"""

from typing import Annotated

from pydantic import ConfigDict, Field

from partisan_operator.models.affinity import Affinity, SpreadConstraints
from partisan_operator.models.base import (
    Resource,
    Rule,
    keyed_by,
    not_raised,
    rules,
    unchanged,
)
from partisan_operator.models.claims import FIXED
from partisan_operator.models.metrics import Metrics
from partisan_operator.models.names import ImageReference, OptionalObjectName
from partisan_operator.models.overlay import MAX_EDGES, Overlay
from partisan_operator.models.pods import Pods
from partisan_operator.models.quantities import Heartbeat
from partisan_operator.models.restore import Restore
from partisan_operator.models.scheduling import (
    ImagePullPolicy,
    ImagePullSecrets,
    NetworkPolicy,
    NodeLabels,
    Resources,
    Rollout,
    Tolerations,
)
from partisan_operator.models.security import Security
from partisan_operator.models.workload import Channel, Workload, queued

MAX_REPLICAS = 1024
MAX_FULL_MESH = 256
DEFAULT_HEARTBEAT = "5s"


class Discovery(Resource):
    """How a node finds its first peers."""

    seeds: Annotated[int, Field(ge=1, le=8)] = 3
    """Number of seeds: nodes, spread evenly over the ordinals, through which every node joins. With
    fewer replicas every node is a seed."""


_LANES = "(self.channels.map(c, c.parallelism).sum() + 1)"
"""CEL expression for the connections to one neighbour: those of all channels, and one of the
overlay."""


def _neighbours(*kinds: str) -> str:
    return f"self.overlay.kind in [{', '.join(repr(kind) for kind in kinds)}]"


def _most_neighbours(kind: str, field: str, default: int) -> str:
    member = f"self.overlay.{kind[0].lower()}{kind[1:]}"
    return f"self.overlay.kind == '{kind}' ? (has({member}) ? {member}.{field} : {default})"


_NEIGHBOURS = (
    f"({_neighbours('FullMesh', 'ClientServer', 'PublishSubscribe')} ? self.replicas - 1"
    " : self.overlay.kind == 'Static' ? (has(self.overlay.static)"
    " && has(self.overlay.static.edges) ? self.overlay.static.edges.size() : 3)"
    f" : {_most_neighbours('HyParView', 'activeMax', 6)}"
    f" : {_most_neighbours('XBot', 'activeMax', 6)}"
    f" : {_most_neighbours('Cyclon', 'viewSize', 20)} * 2"
    f" : {_most_neighbours('ScampV1', 'redundancy', 4)} * 7 + 7"
    f" : {_most_neighbours('ScampV2', 'redundancy', 4)} * 7 + 7"
    f" : {_most_neighbours('HiScamp', 'redundancy', 3)} * 7 + 7 : 0)"
)
"""CEL expression for the most neighbours of any node. Views of SCAMP have about (c + 1) ln N
entries; those of Custom are unknown, and count as none."""

MAX_CONNECTIONS = 8_000
"""Most connections that a node opens. Its neighbours open as many to it, each of both is a port and
a process, and the emulator has 16,384 of either (vm.args)."""

MAX_TLS_CONNECTIONS = 2_000
"""The same with TLS, where each connection is four processes."""

UNLIMITED_QUEUES = 512 * 2**20
"""Bytes that a node without a memory limit may queue for one neighbour."""

CHECKED_ORDINALS = 64
"""Most replicas for which the API server searches for unconnected nodes. The cost limit of rules
allows no complete search: it has no false positives, and the operator finds the remaining cases."""

_MOST_SEARCHED = 192
"""Most edges that the search follows: more would exceed the cost limit."""

_EDGES = "self.overlay.static.edges"


def _unless_checked(most_edges: int) -> str:
    """Return the CEL expression for edges that the API server does not check."""
    return (
        f"self.replicas > {CHECKED_ORDINALS} || !has(self.overlay.static) || !has({_EDGES})"
        f" || {_EDGES}.size() > {most_edges}"
        f" || !{_EDGES}.all(e, e.all(end, end < {CHECKED_ORDINALS}))"
    )


def _edges_reach(found: str) -> str:
    """Return the CEL expression for which ordinals have an edge with that property."""
    return f"{list(range(CHECKED_ORDINALS))}.map(n, {_EDGES}.exists(e, n in e && ({found})))"


def _connected(rule: str, most_edges: int) -> Rule:
    return Rule(
        f"{_unless_checked(most_edges)} || ({rule})",
        "overlay.static.edges must connect all nodes, and some ordinals below replicas cannot be"
        " reached from the others: add edges between them or lower replicas",
        ".overlay.static.edges",
        unchanged("overlay.static.edges", "replicas"),
    )


_CONNECTED = (
    _connected(
        # Each ordinal has an edge, and edges lead from those below it to the others.
        f"{list(range(CHECKED_ORDINALS))}.all(n, n >= self.replicas"
        f" || ({_EDGES}.exists(e, n in e)"
        f" && (n == 0 || {_EDGES}.exists(e, (e[0] < n) != (e[1] < n)))))"
        # Edges lead from even ordinals to odd ones, and so on.
        f" && [2, 3, 5, 7].all(m, {_EDGES}.exists(e, e[0] % m != e[1] % m))",
        MAX_EDGES,
    ),
    _connected(
        # Two edges from ordinal 0 reach everything, or further edges continue from there.
        f"[{_edges_reach('0 in e')}].all(near,"
        f" [{_edges_reach('near[e[0]] || near[e[1]]')}].all(reached,"
        f" {list(range(CHECKED_ORDINALS))}.all(n, n >= self.replicas || reached[n])"
        f" || {_EDGES}.exists(e, reached[e[0]] != reached[e[1]])))",
        _MOST_SEARCHED,
    ),
)

_CONNECTIONS = f"{_LANES} * ({_NEIGHBOURS} < self.replicas ? {_NEIGHBOURS} : self.replicas - 1)"

# `edges` counts as if all were of one node, which is far too many for this limit.
_TLS = "has(self.security) && has(self.security.tls) && self.overlay.kind != 'Static'"

_QUEUED = queued("self.channels")

_MEMORY = (
    "(has(self.resources) && has(self.resources.limits) && 'memory' in self.resources.limits"
    " ? quantity(string(self.resources.limits['memory'])).asApproximateFloat()"
    f" : {UNLIMITED_QUEUES}.0)"
)

_COUNTS = (
    "(!has(self.workload) || !has(self.workload.adCounter)"
    " || (has(self.workload.synchronization) && self.workload.synchronization == 'Aggregate')"
    " ? 0 : self.workload.adCounter.ads * self.replicas)"
)
"""Number of counts that every node holds."""

MANY_COUNTS = 10_240
"""Counts of which a node may send a whole state more often than every 100 ms: a million of them a
second to each neighbour."""

_OFTEN = (
    "(has(self.workload) && has(self.workload.adCounter) && has(self.workload.synchronization)"
    " && self.workload.synchronization == 'State'"
    " && duration(self.workload.adCounter.propagationInterval) < duration('100ms'))"
)

_COST = (
    Rule(
        f"{_CONNECTIONS} <= ({_TLS} ? {MAX_TLS_CONNECTIONS} : {MAX_CONNECTIONS})",
        f"a node would open more than {MAX_CONNECTIONS} connections, or {MAX_TLS_CONNECTIONS} with"
        " security.tls (neighbours times the sum of channels[].parallelism and one for the"
        " overlay), and accept as many, for which its Erlang VM has too few ports or processes:"
        " lower parallelism, or use an overlay with fewer neighbours",
        ".channels",
        not_raised(_CONNECTIONS),
    ),
    Rule(
        f"{_QUEUED} <= {_MEMORY}",
        "channels may queue more for one neighbour (the sum of parallelism times queueLimit)"
        " than resources.limits.memory, or 512Mi without that limit, so that one slow neighbour"
        " can end the node: lower queueLimit or parallelism, or set the limit to what the node"
        " has",
        ".channels",
        f"{unchanged('channels')} && {not_raised(f'-{_MEMORY}')}",
    ),
    Rule(
        f"{_COUNTS} <= 131072",
        "workload.adCounter.ads times replicas must be at most 131072, because every node holds"
        " a count for each node and ad: lower ads, or set workload.synchronization to Aggregate",
        ".workload",
        not_raised(_COUNTS),
    ),
    Rule(
        f"!{_OFTEN} || {_COUNTS} <= {MANY_COUNTS}",
        "workload.adCounter.propagationInterval must be at least 100ms where ads times replicas is"
        f" more than {MANY_COUNTS}, because State sends all of these counts each time: raise it, or"
        " set workload.synchronization to Delta",
        ".workload.adCounter.propagationInterval",
        f"{unchanged('workload')} && {not_raised(_COUNTS)}",
    ),
)


class PartisanClusterSpec(Resource):
    """The desired state of a cluster of overlay nodes."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                f"self.overlay.kind != 'FullMesh' || self.replicas <= {MAX_FULL_MESH}"
                " || (has(self.overlay.fullMesh) && self.overlay.fullMesh.allowLarge)",
                f"replicas must be at most {MAX_FULL_MESH} with overlay.kind FullMesh: use"
                " HyParView, or set overlay.fullMesh.allowLarge to true",
                ".replicas",
            ),
            Rule(
                "!has(self.overlay.clientServer)"
                " || self.overlay.clientServer.servers <= self.replicas",
                "overlay.clientServer.servers must not exceed replicas: lower servers or raise"
                " replicas",
                ".overlay.clientServer.servers",
            ),
            Rule(
                "!has(self.overlay.publishSubscribe)"
                " || self.overlay.publishSubscribe.brokers <= self.replicas",
                "overlay.publishSubscribe.brokers must not exceed replicas: lower brokers or raise"
                " replicas",
                ".overlay.publishSubscribe.brokers",
            ),
            Rule(
                "!has(self.overlay.static) || !has(self.overlay.static.edges)"
                " || self.overlay.static.edges.all(e, e.all(end, end < self.replicas))",
                "overlay.static.edges must name ordinals below replicas: remove the edges beyond or"
                " raise replicas",
                ".overlay.static.edges",
            ),
            Rule(
                "!has(self.overlay.static) || !has(self.overlay.static.edges)"
                " || self.overlay.static.edges.size() >= self.replicas - 1",
                "overlay.static.edges are too few to connect all replicas: add edges for every"
                " ordinal or lower replicas",
                ".overlay.static.edges",
            ),
            *_CONNECTED,
            *_COST,
            Rule(
                "!has(self.restore) || has(self.workload)",
                "restore needs the workload of the backup: set workload, or remove restore",
                ".restore",
            ),
            Rule(
                "(has(self.security) && has(self.security.tls))"
                " == (has(oldSelf.security) && has(oldSelf.security.tls))",
                "security.tls can be neither added nor removed, because nodes with TLS and nodes"
                " without it do not connect: delete and recreate the cluster",
                ".security",
            ),
            *FIXED,
        )
    )

    replicas: Annotated[int, Field(ge=1, le=MAX_REPLICAS)] = 3
    """Number of nodes, one pod each."""

    image: ImageReference = ""
    """Image of the node. Empty means the operator's default image."""

    image_pull_policy: ImagePullPolicy = ImagePullPolicy.IF_NOT_PRESENT
    """When the kubelet pulls the image: Always, IfNotPresent or Never."""

    image_pull_secrets: ImagePullSecrets = ()
    """Secrets with the credentials of the image's registry."""

    overlay: Overlay = Overlay()
    """How the nodes connect."""

    channels: Annotated[
        tuple[Channel, ...],
        Field(
            min_length=1,
            max_length=16,
            json_schema_extra={
                **keyed_by("name"),
                **rules(
                    Rule(
                        "self.exists(c, c.name == 'default')",
                        "channels must hold one named default, for messages that name no channel",
                    ),
                ),
            },
        ),
    ] = (Channel(name="default"), Channel(name="gossip", monotonic=True))
    """The channels that the application uses; names are unique."""

    discovery: Discovery = Discovery()
    """How a node finds its first peers."""

    heartbeat_interval: Heartbeat = DEFAULT_HEARTBEAT
    """Time between two heartbeats to each neighbour, and between two announcements of a seed to all
    nodes. A node drops a neighbour that is silent for two intervals, and rejoins through a seed
    that is silent for three; failures that close a connection are detected at once. Heartbeats are
    most of an idle node's traffic: to more than 64 neighbours they are rarer, in proportion, unless
    the interval is long already. A change replaces the pods."""

    workload: Workload | None = None
    """Workload that the nodes run once they are connected. Absent means none: the nodes only
    maintain the overlay. A change restarts the nodes and starts a new run."""

    restore: Restore | None = None
    """Backup that the nodes start from: each start of a node joins it to the state, which never
    takes a count away. Its cluster's name and workload must be those of this cluster. A change
    replaces the pods."""

    rollout: Rollout = Rollout()
    """How a change reaches the pods."""

    paused: bool = False
    """While true, the operator observes and reports, but changes nothing."""

    development: bool = False
    """Let `kubectl partisan dev` replace modules in the running nodes: for development, never in
    production. A change replaces the pods."""

    security: Security = Security()
    """How nodes authenticate each other."""

    network_policy: NetworkPolicy = NetworkPolicy()
    """Restriction of connections to the nodes."""

    metrics: Metrics = Metrics()
    """How the nodes' metrics are collected."""

    pods: Pods = Pods()
    """Additions to the pods: labels, variables, volumes, files."""

    resources: Resources = Resources()
    """Compute resources of each node."""

    node_selector: NodeLabels = Field(default_factory=dict)
    """Labels of the Kubernetes nodes that pods may run on."""

    tolerations: Tolerations = ()
    """Taints that pods tolerate."""

    affinity: Affinity | None = None
    """Affinity of the pods, as in a pod's spec."""

    topology_spread_constraints: SpreadConstraints | None = None
    """How pods spread, as in a pod's spec. Absent means over zones and Kubernetes nodes as evenly
    as the scheduler can (ScheduleAnyway); an empty list means no constraint."""

    priority_class_name: OptionalObjectName = ""
    """PriorityClass of the pods. Empty means the default of the Kubernetes cluster."""
