"""Which scale-downs are refused: those after which the overlay could not go on as one.

Pods leave by ordinal, the highest first, whatever state the others are in. An overlay that heals
gets over that, as long as what remains is a part of it. Three things it does not get over: edges
that do not connect the ordinals that remain, a remainder in which nobody is in the overlay, and a
piece that goes as a whole, with whatever only its nodes know.

What the definition's rules can tell without looking at the nodes is refused there already.

A refusal keeps the pods and nothing else: `kept` is what the spec asks for meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from partisan_operator.children import naming
from partisan_operator.children.overlay import edges
from partisan_operator.models import PartisanCluster
from partisan_operator.models.overlay import ClientServer, OverlayKind
from partisan_operator.models.problem import Problem, Reason
from partisan_operator.observe.graph import pieces
from partisan_operator.observe.observation import Observation

_MOST_NAMES = 5


def refusal(cluster: PartisanCluster, observation: Observation) -> Problem | None:
    """Return why a cluster's pods must stay for now; None when none would go, or all may."""
    before = observation.ordinals(cluster)
    after = cluster.spec.replicas
    if after >= before:
        return None
    why = unconnected_ordinals(cluster) or _lost_nodes(cluster, observation, before)
    if not why:
        return None
    return Problem(
        Reason.SCALE_DOWN_REFUSED,
        f"spec.replicas {after} is not followed, {before} nodes stay: {why}, or set spec.replicas"
        f" to {before} again.",
    )


def kept(cluster: PartisanCluster, observation: Observation) -> PartisanCluster:
    """Return the cluster as it is to be while no pod of it may go."""
    replicas = max(cluster.spec.replicas, observation.ordinals(cluster))
    return replace(cluster, spec=cluster.spec.model_copy(update={"replicas": replicas}))


def bearable(cluster: PartisanCluster, observation: Observation) -> bool:
    """Say whether the nodes of a cluster can follow its overlay.

    One that is asked for together with fewer nodes may not lead to those that are kept: edges for
    fewer ordinals, or servers of which none is there.
    """
    everyone = naming.pod_names(cluster.name, cluster.spec.replicas)
    present = _views(observation, everyone)
    served = not present or any(name in present for name in _servers(cluster, everyone))
    return served and not unconnected_ordinals(cluster)


def unconnected_ordinals(cluster: PartisanCluster) -> str:
    """Return which ordinals the edges of a static overlay do not connect; empty if none."""
    overlay = cluster.spec.overlay
    if overlay.kind is not OverlayKind.STATIC or overlay.static is None:
        return ""
    neighbours: dict[str, list[str]] = {str(n): [] for n in range(cluster.spec.replicas)}
    for one, other in edges(overlay.static, cluster.spec.replicas):
        neighbours[str(one)].append(str(other))
    first = next(piece for piece in pieces(neighbours) if "0" in piece)
    apart = [name for name in neighbours if name not in first]
    if not apart:
        return ""
    return (
        f"spec.overlay.static.edges would not connect {_some('ordinal', apart)} to ordinal 0."
        " Add edges between the ordinals"
    )


def _lost_nodes(cluster: PartisanCluster, observation: Observation, before: int) -> str:
    """Say which nodes would leave without anybody of their piece of the overlay to stay."""
    everyone = naming.pod_names(cluster.name, before)
    staying = frozenset(everyone[: cluster.spec.replicas])
    views = _views(observation, everyone)
    if not views:
        return ""  # no overlay that could be cut, and nobody who knows anything
    servers = _servers(cluster, everyone)
    if not any(name in views for name in servers):
        return (
            f"of the servers that would remain, {_some('node', servers)}, none is in the"
            f" overlay. See why: kubectl describe pod {servers[0]}"
        )
    if staying.isdisjoint(views):
        return (
            "none of the nodes that would remain is in the overlay. See why: kubectl describe pod"
            f" {everyone[0]}"
        )
    lost = [piece for piece in pieces(views) if staying.isdisjoint(piece)]
    if not lost:
        return ""
    names = [name for name in everyone if name in lost[0]]
    return (
        f"{_some('node', names)} would go without having handed over to any that remains, for the"
        " overlay is in pieces. Wait until it is one, see whether the network lets pods of this"
        f" cluster reach each other, delete pod {names[0]} if what it holds may be lost"
    )


def _views(observation: Observation, nodes: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the views of those of the nodes that are in the overlay."""
    return {
        name: report.overlay.active
        for name, report in observation.reports(nodes).items()
        if report.overlay.joined
    }


def _servers(cluster: PartisanCluster, everyone: Sequence[str]) -> Sequence[str]:
    """Return the nodes of which one at least has to be there: all, where none is a server."""
    if cluster.spec.overlay.kind is not OverlayKind.CLIENT_SERVER:
        return everyone
    return everyone[: (cluster.spec.overlay.client_server or ClientServer()).servers]


def _some(noun: str, names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    shown = ", ".join(names[:_MOST_NAMES])
    tail = f" and {more} more" if more > 0 else ""
    return f"{noun if len(names) == 1 else noun + 's'} {shown}{tail}"
