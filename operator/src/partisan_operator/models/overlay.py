"""The overlay: a tagged union whose `kind` selects the member with its parameters.

Over 300 lines: one declaration for each kind, most of it the text of `kubectl explain`.
"""

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field

from partisan_operator.models.base import Resource, Rule, keyed_by, rules
from partisan_operator.models.quantities import Interval, Lease
from partisan_operator.models.workload import ERLANG_NAME, Argument, ErlangName


class OverlayKind(StrEnum):
    """The overlays that a node can run."""

    FULL_MESH = "FullMesh"
    CLIENT_SERVER = "ClientServer"
    HY_PAR_VIEW = "HyParView"
    X_BOT = "XBot"
    SCAMP_V1 = "ScampV1"
    SCAMP_V2 = "ScampV2"
    HI_SCAMP = "HiScamp"
    CYCLON = "Cyclon"
    STATIC = "Static"
    PUBLISH_SUBSCRIBE = "PublishSubscribe"
    CUSTOM = "Custom"


NODE_NAMES = {
    OverlayKind.FULL_MESH: "full_mesh",
    OverlayKind.CLIENT_SERVER: "client_server",
    OverlayKind.HY_PAR_VIEW: "hyparview",
    OverlayKind.X_BOT: "xbot",
    OverlayKind.SCAMP_V1: "scamp_v1",
    OverlayKind.SCAMP_V2: "scamp_v2",
    OverlayKind.HI_SCAMP: "hiscamp",
    OverlayKind.CYCLON: "cyclon",
    OverlayKind.STATIC: "static",
    OverlayKind.PUBLISH_SUBSCRIBE: "publish_subscribe",
}
"""Names of the kinds on the nodes. The name of Custom is its module."""

_HY_PAR_VIEW_RULES = (
    Rule(
        "self.activeMin <= self.activeMax",
        "activeMin must not exceed activeMax: lower activeMin or raise activeMax",
        ".activeMin",
    ),
    Rule(
        "self.passiveRandomWalkLength <= self.activeRandomWalkLength",
        "passiveRandomWalkLength must not exceed activeRandomWalkLength: a join walks"
        " activeRandomWalkLength hops in total",
        ".passiveRandomWalkLength",
    ),
)


class HyParView(Resource):
    """Parameters of HyParView: partial views that heal, for clusters of any size.

    The defaults are those of the published deployment of 1,024 nodes.
    """

    model_config = ConfigDict(json_schema_extra=rules(*_HY_PAR_VIEW_RULES))

    active_max: Annotated[int, Field(ge=2, le=64)] = 6
    """Most neighbours that a node keeps connections to."""

    active_min: Annotated[int, Field(ge=1, le=64)] = 3
    """Fewest neighbours: a node with fewer promotes passive ones at once."""

    passive_max: Annotated[int, Field(ge=1, le=512)] = 30
    """Most names that a node remembers as replacements for failed neighbours."""

    active_random_walk_length: Annotated[int, Field(ge=1, le=32)] = 6
    """Hops that the announcement of a joining node travels."""

    passive_random_walk_length: Annotated[int, Field(ge=1, le=32)] = 3
    """The hop at which a travelling announcement enters a passive view."""

    shuffle_interval: Interval = "10s"
    """Time between two exchanges of passive views with a random node."""

    promotion_interval: Interval = "5s"
    """Time between two attempts to fill an active view that is not full."""


class XBot(HyParView):
    """Parameters of X-BOT: HyParView whose links move to nearer peers, by measured round trips."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            *_HY_PAR_VIEW_RULES,
            Rule(
                "self.unbiased < self.activeMax",
                "unbiased must be less than activeMax, or no link could ever move: lower unbiased"
                " or raise activeMax",
                ".unbiased",
            ),
            Rule(
                "self.scan <= self.passiveMax",
                "scan must not exceed passiveMax, the number of peers to measure: lower scan or"
                " raise passiveMax",
                ".scan",
            ),
        )
    )

    optimisation_interval: Interval = "10s"
    """Time between two attempts of a node to move one link to a nearer peer."""

    scan: Annotated[int, Field(ge=1, le=64)] = 2
    """Passive peers that are measured in one attempt."""

    unbiased: Annotated[int, Field(ge=0, le=63)] = 1
    """Links to the farthest peers that are never replaced: they connect distant parts."""


class ScampV1(Resource):
    """Parameters of SCAMP as first published: views that grow with the logarithm of the cluster."""

    redundancy: Annotated[int, Field(ge=0, le=32)] = 4
    """The paper's c: copies of a subscription beyond one per known node. Views settle near
    (c + 1) ln N, and the cluster stays connected while up to c / (c + 1) of the links fail."""

    heartbeat_interval: Interval = "5s"
    """Time between two heartbeats to the nodes in a view."""


_SCAMP_V2_RULES = (
    Rule(
        "duration(self.lease) >= duration(self.heartbeatInterval)",
        "lease must not be shorter than heartbeatInterval: raise lease",
        ".lease",
    ),
)


class ScampV2(ScampV1):
    """Parameters of SCAMP as revised: subscriptions expire, and contacts are found by chance."""

    model_config = ConfigDict(json_schema_extra=rules(*_SCAMP_V2_RULES))

    lease: Lease = "10m"
    """Time after which an entry of a view expires and its node resubscribes."""

    indirection: Annotated[int, Field(ge=0, le=64)] = 8
    """Hops that a joining node's request walks, so that its contact is not always a seed."""


class HiScamp(ScampV1):
    """Parameters of HiScamp: SCAMP within each zone, and SCAMP between some nodes of every zone.

    A node's zone is its pod's label topology.kubernetes.io/zone, which Kubernetes 1.35 and later
    copy from the Kubernetes node. Without the label, each Kubernetes node is a zone.
    """

    model_config = ConfigDict(json_schema_extra=rules(*_SCAMP_V2_RULES))

    redundancy: Annotated[int, Field(ge=0, le=32)] = 3
    """The paper's c, on both levels: copies of a subscription beyond one per known node."""

    representatives: Annotated[int, Field(ge=1, le=16)] = 2
    """Nodes of each zone, at least, that are members of the level between the zones."""

    lease: Lease = "10m"
    """Time after which an entry of a view expires and its node resubscribes."""

    indirection: Annotated[int, Field(ge=0, le=64)] = 4
    """Hops that a joining node's request walks, so that its contact is not always a seed."""


class Cyclon(Resource):
    """Parameters of Cyclon: views of constant size whose entries wander, a random sample."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "self.shuffleSize <= self.viewSize",
                "shuffleSize must not exceed viewSize: lower shuffleSize or raise viewSize",
                ".shuffleSize",
            )
        )
    )

    view_size: Annotated[int, Field(ge=1, le=128)] = 20
    """Nodes in a view. A node is connected to these and to the nodes that have it in their view."""

    shuffle_size: Annotated[int, Field(ge=1, le=128)] = 8
    """Entries that two nodes exchange at a time."""

    shuffle_interval: Interval = "10s"
    """Time between two exchanges of a node with the oldest entry of its view."""

    walk_length: Annotated[int, Field(ge=0, le=32)] = 5
    """Hops of the random walks that bring a joining node into the views of others."""


class ClientServer(Resource):
    """Parameters of client-server: clients connect to servers, servers to each other."""

    servers: Annotated[int, Field(ge=1, le=64)] = 1
    """Number of servers: the nodes with the lowest ordinals. At most `spec.replicas`."""


class PublishSubscribe(Resource):
    """Parameters of publish-subscribe: every node connects to the brokers alone.

    Topics live at the brokers, and messages between other nodes pass them.
    """

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "self.replication <= self.brokers",
                "replication must not exceed brokers: lower replication or raise brokers",
                ".replication",
            )
        )
    )

    brokers: Annotated[int, Field(ge=1, le=64)] = 2
    """Number of brokers: the nodes with the lowest ordinals. At most `spec.replicas`."""

    replication: Annotated[int, Field(ge=1, le=64)] = 2
    """Brokers that keep the subscriptions of a topic: one fewer may be lost at once. At most
    `brokers`."""


class CustomOverlay(Resource):
    """An overlay of your own: an Erlang module in the image of the nodes."""

    module: Annotated[
        ErlangName,
        Field(
            json_schema_extra=rules(
                ERLANG_NAME,
                Rule(
                    f"!(self in {sorted(NODE_NAMES.values())})",
                    "this is an overlay of the runtime: set kind to it instead of Custom",
                ),
            )
        ),
    ]
    """The module, of the behaviour `partisan_overlay`. If the image does not contain it, running
    nodes keep their overlay, new pods end, and the condition Degraded reports it."""

    parameters: Annotated[
        tuple[Argument, ...], Field(max_length=32, json_schema_extra=keyed_by("name"))
    ] = ()
    """Parameters of the module. An absent one has the module's default."""


class FullMesh(Resource):
    """Parameters of the full mesh: every node connects to every other node."""

    allow_large: bool = False
    """Allows more than 256 nodes. A mesh of N nodes holds N*(N-1)/2 links, each with the
    connections of every channel."""


class Pattern(StrEnum):
    """Edges that follow from the number of nodes."""

    RING = "Ring"
    TREE = "Tree"


MAX_EDGES = 4096

Ordinal = Annotated[int, Field(ge=0, le=1023)]
Edge = Annotated[
    tuple[Ordinal, ...],
    Field(
        min_length=2,
        max_length=2,
        json_schema_extra=rules(
            Rule("self[0] != self[1]", "an edge must join two different ordinals: change one")
        ),
    ),
]


class Static(Resource):
    """The links of a static overlay, which nothing repairs. Set either pattern or edges."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "has(self.pattern) != has(self.edges)",
                "a static overlay needs either pattern or edges: set one and remove the other",
            )
        )
    )

    pattern: Pattern | None = None
    """Ring: each ordinal is linked to the next, the last to the first. Tree: a binary tree whose
    root is ordinal 0. The links follow when the cluster is scaled."""

    edges: Annotated[tuple[Edge, ...], Field(min_length=1, max_length=MAX_EDGES)] | None = None
    """The links as pairs of ordinals, such as [[0, 1], [1, 2]]. They must connect all nodes: the
    API server rejects most edges that do not, up to 64 replicas, and the operator reports the
    others (Degraded, InvalidSpec)."""


def _only_with(member: str, kind: OverlayKind) -> Rule:
    return Rule(
        f"!has(self.{member}) || self.kind == '{kind}'",
        f"{member} may only be set when kind is {kind}: remove {member} or change kind",
        f".{member}",
    )


class Overlay(Resource):
    """How the nodes connect. `kind` selects the one member that may be set.

    All of it can change while the cluster runs: the new overlay forms next to the old one, no pod
    restarts, and no acknowledged message is lost.
    """

    model_config = ConfigDict(
        json_schema_extra=rules(
            _only_with("hyParView", OverlayKind.HY_PAR_VIEW),
            _only_with("xBot", OverlayKind.X_BOT),
            _only_with("scampV1", OverlayKind.SCAMP_V1),
            _only_with("scampV2", OverlayKind.SCAMP_V2),
            _only_with("hiScamp", OverlayKind.HI_SCAMP),
            _only_with("cyclon", OverlayKind.CYCLON),
            _only_with("clientServer", OverlayKind.CLIENT_SERVER),
            _only_with("fullMesh", OverlayKind.FULL_MESH),
            _only_with("static", OverlayKind.STATIC),
            _only_with("publishSubscribe", OverlayKind.PUBLISH_SUBSCRIBE),
            _only_with("custom", OverlayKind.CUSTOM),
            Rule(
                "self.kind != 'Static' || has(self.static)",
                "static must be set when kind is Static: set static.pattern or static.edges",
                ".static",
            ),
            Rule(
                "self.kind != 'Custom' || has(self.custom)",
                "custom must be set when kind is Custom: set custom.module",
                ".custom",
            ),
        )
    )

    kind: OverlayKind = OverlayKind.HY_PAR_VIEW
    """The overlay: FullMesh, ClientServer, HyParView, XBot (HyParView with near links preferred),
    ScampV1, ScampV2, HiScamp (by zones), Cyclon, Static, PublishSubscribe or Custom."""

    hy_par_view: HyParView | None = None
    """Parameters of HyParView; absent means the defaults."""

    x_bot: XBot | None = None
    """Parameters of XBot; absent means the defaults."""

    scamp_v1: ScampV1 | None = None
    """Parameters of ScampV1; absent means the defaults."""

    scamp_v2: ScampV2 | None = None
    """Parameters of ScampV2; absent means the defaults."""

    hi_scamp: HiScamp | None = None
    """Parameters of HiScamp; absent means the defaults."""

    cyclon: Cyclon | None = None
    """Parameters of Cyclon; absent means the defaults."""

    client_server: ClientServer | None = None
    """Parameters of ClientServer; absent means the defaults."""

    full_mesh: FullMesh | None = None
    """Parameters of FullMesh; absent means the defaults."""

    static: Static | None = None
    """The links of Static; must be set with that kind."""

    publish_subscribe: PublishSubscribe | None = None
    """Parameters of PublishSubscribe; absent means the defaults."""

    custom: CustomOverlay | None = None
    """The module of Custom; must be set with that kind."""
