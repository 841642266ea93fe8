"""The overlay in the nodes' terms: its Erlang name, and its parameters in milliseconds."""

from __future__ import annotations

from partisan_operator.children import naming
from partisan_operator.children.erlang_terms import Atom, Term
from partisan_operator.models import PartisanCluster
from partisan_operator.models.overlay import (
    ClientServer,
    Cyclon,
    HiScamp,
    HyParView,
    Overlay,
    OverlayKind,
    Pattern,
    ScampV1,
    ScampV2,
    Static,
    XBot,
)
from partisan_operator.models.quantities import milliseconds

_NAMES = {
    OverlayKind.FULL_MESH: "full_mesh",
    OverlayKind.CLIENT_SERVER: "client_server",
    OverlayKind.HY_PAR_VIEW: "hyparview",
    OverlayKind.X_BOT: "xbot",
    OverlayKind.SCAMP_V1: "scamp_v1",
    OverlayKind.SCAMP_V2: "scamp_v2",
    OverlayKind.HI_SCAMP: "hiscamp",
    OverlayKind.CYCLON: "cyclon",
    OverlayKind.STATIC: "static",
}
_KINDS = {name: kind for kind, name in _NAMES.items()}


def kind_called(name: str) -> OverlayKind | None:
    """Return the kind with that Erlang name; None if there is none."""
    return _KINDS.get(name)


def overlay_term(cluster: PartisanCluster) -> Term:
    """Return the overlay of a cluster, as `node.config` has it."""
    overlay = cluster.spec.overlay
    return Atom(_NAMES[overlay.kind]), _parameters(cluster, overlay)


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
            servers = (overlay.client_server or ClientServer()).servers
            return {Atom("servers"): list(naming.pod_names(cluster.name, servers))}
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
