"""The overlay in the nodes' terms: its Erlang name, and its parameters in milliseconds."""

import re

from partisan_operator.children import naming
from partisan_operator.children.erlang_terms import Atom, Term
from partisan_operator.models import PartisanCluster
from partisan_operator.models.overlay import (
    NODE_NAMES,
    ClientServer,
    Cyclon,
    HiScamp,
    HyParView,
    Overlay,
    OverlayKind,
    Pattern,
    PublishSubscribe,
    ScampV1,
    ScampV2,
    Static,
    XBot,
)
from partisan_operator.models.quantities import milliseconds

_MODULE = re.compile("[a-z][A-Za-z0-9_]*")
_KINDS = {name: kind for kind, name in NODE_NAMES.items()}


def kind_called(name: str) -> OverlayKind | None:
    """Return the kind with that Erlang name, Custom for another module; None if it is no name."""
    if kind := _KINDS.get(name):
        return kind
    return OverlayKind.CUSTOM if name != "none" and _MODULE.fullmatch(name) else None


def overlay_term(cluster: PartisanCluster) -> Term:
    """Return the overlay of a cluster, as `node.config` has it."""
    overlay = cluster.spec.overlay
    if overlay.custom is not None:
        parameters = {Atom(given.name): given.value for given in overlay.custom.parameters}
        return Atom(overlay.custom.module), parameters
    return Atom(NODE_NAMES[overlay.kind]), _parameters(cluster, overlay)


def hubs(cluster: PartisanCluster) -> int | None:
    """Return the number of servers or brokers: the lowest ordinals. None if all nodes are equal."""
    overlay = cluster.spec.overlay
    match overlay.kind:
        case OverlayKind.CLIENT_SERVER:
            return (overlay.client_server or ClientServer()).servers
        case OverlayKind.PUBLISH_SUBSCRIBE:
            brokers = (overlay.publish_subscribe or PublishSubscribe()).brokers
            return min(brokers, cluster.spec.replicas)
        case _:
            return None


def edges(static: Static, replicas: int) -> tuple[tuple[int, int], ...]:
    """Return the links of a static overlay, as pairs of ordinals.

    >>> edges(Static(pattern=Pattern.RING), 3)
    ((0, 1), (1, 2), (2, 0))
    """
    match static.pattern:
        case Pattern.RING:
            return tuple(
                (ordinal, (ordinal + 1) % replicas)
                for ordinal in range(replicas if replicas > 2 else replicas - 1)
            )
        case Pattern.TREE:
            return tuple(((ordinal - 1) // 2, ordinal) for ordinal in range(1, replicas))
        case None:
            return tuple((first, second) for first, second in static.edges or ())


def _parameters(cluster: PartisanCluster, overlay: Overlay) -> dict[Atom, Term]:
    match overlay.kind:
        case OverlayKind.FULL_MESH:
            return {}
        case OverlayKind.CLIENT_SERVER:
            return {Atom("servers"): _hub_names(cluster)}
        case OverlayKind.PUBLISH_SUBSCRIBE:
            brokers = _hub_names(cluster)
            replication = (overlay.publish_subscribe or PublishSubscribe()).replication
            return {
                Atom("brokers"): brokers,
                Atom("replication"): min(replication, len(brokers)),
            }
        case OverlayKind.HY_PAR_VIEW:
            return _hy_par_view(overlay.hy_par_view or HyParView())
        case OverlayKind.X_BOT:
            return _x_bot(overlay.x_bot or XBot())
        case OverlayKind.SCAMP_V1:
            return _scamp(overlay.scamp_v1 or ScampV1())
        case OverlayKind.SCAMP_V2:
            scamp = overlay.scamp_v2 or ScampV2()
            return _scamp(scamp) | _leased(scamp)
        case OverlayKind.HI_SCAMP:
            hi_scamp = overlay.hi_scamp or HiScamp()
            representatives: dict[Atom, Term] = {Atom("representatives"): hi_scamp.representatives}
            return _scamp(hi_scamp) | _leased(hi_scamp) | representatives
        case OverlayKind.CYCLON:
            return _cyclon(overlay.cyclon or Cyclon())
        case OverlayKind.STATIC:
            return {Atom("edges"): list(edges(overlay.static or Static(), cluster.spec.replicas))}
        case OverlayKind.CUSTOM:
            return {}


def _hub_names(cluster: PartisanCluster) -> list[Term]:
    return list(naming.pod_names(cluster.name, hubs(cluster) or 0))


def _hy_par_view(view: HyParView) -> dict[Atom, Term]:
    return {
        Atom("active_max"): view.active_max,
        Atom("active_min"): view.active_min,
        Atom("passive_max"): view.passive_max,
        Atom("active_random_walk_length"): view.active_random_walk_length,
        Atom("passive_random_walk_length"): view.passive_random_walk_length,
        Atom("shuffle_interval"): milliseconds(view.shuffle_interval),
        Atom("promotion_interval"): milliseconds(view.promotion_interval),
    }


def _x_bot(x_bot: XBot) -> dict[Atom, Term]:
    return _hy_par_view(x_bot) | {
        Atom("optimisation_interval"): milliseconds(x_bot.optimisation_interval),
        Atom("scan"): x_bot.scan,
        Atom("unbiased"): x_bot.unbiased,
    }


def _scamp(scamp: ScampV1) -> dict[Atom, Term]:
    return {
        Atom("redundancy"): scamp.redundancy,
        Atom("heartbeat_interval"): milliseconds(scamp.heartbeat_interval),
    }


def _leased(scamp: ScampV2 | HiScamp) -> dict[Atom, Term]:
    """Return the parameters that the revised SCAMP adds. Nodes count a lease in heartbeats."""
    return {
        Atom("lease"): milliseconds(scamp.lease) // milliseconds(scamp.heartbeat_interval),
        Atom("indirection"): scamp.indirection,
    }


def _cyclon(cyclon: Cyclon) -> dict[Atom, Term]:
    return {
        Atom("view_size"): cyclon.view_size,
        Atom("shuffle_size"): cyclon.shuffle_size,
        Atom("shuffle_interval"): milliseconds(cyclon.shuffle_interval),
        Atom("walk_length"): cyclon.walk_length,
    }
