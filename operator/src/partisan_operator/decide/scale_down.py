"""Rejects scale-downs that would partition the overlay, or lose state of the removed nodes.

Pods leave by ordinal, the highest first, whatever the state of the others. An overlay heals as long
as the remaining nodes are part of it. Three cases are rejected: edges that do not connect the
remaining ordinals, no remaining node in the overlay, and a component that would be removed as a
whole.

The rules of the CRD reject the cases that do not depend on the nodes' state.

A rejection keeps the pods and nothing else: `kept` is the effective spec meanwhile.
"""

from collections.abc import Sequence
from dataclasses import replace

from partisan_operator.children import naming
from partisan_operator.children.overlay import edges, hubs
from partisan_operator.models import PartisanCluster
from partisan_operator.models.overlay import OverlayKind
from partisan_operator.models.problem import Problem, Reason
from partisan_operator.observe.graph import components
from partisan_operator.observe.observation import Observation

_MOST_NAMES = 5


def refusal(cluster: PartisanCluster, observation: Observation) -> Problem | None:
    """Return why a scale-down is rejected; None if there is none, or it is safe."""
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
    """Return the cluster with at least as many replicas as it has now."""
    replicas = max(cluster.spec.replicas, observation.ordinals(cluster))
    return replace(cluster, spec=cluster.spec.model_copy(update={"replicas": replicas}))


def bearable(cluster: PartisanCluster, observation: Observation) -> bool:
    """Whether the nodes of a cluster can follow its overlay.

    An overlay for fewer nodes may exclude those that are kept: edges may cover fewer ordinals, or
    no server may exist.
    """
    all_nodes = naming.pod_names(cluster.name, cluster.spec.replicas)
    present = _views(observation, all_nodes)
    served = not present or any(name in present for name in _servers(cluster, all_nodes))
    return served and not unconnected_ordinals(cluster)


def unconnected_ordinals(cluster: PartisanCluster) -> str:
    """Return which ordinals the edges of a static overlay do not connect; empty if none."""
    overlay = cluster.spec.overlay
    if overlay.kind is not OverlayKind.STATIC or overlay.static is None:
        return ""
    neighbours: dict[str, list[str]] = {str(n): [] for n in range(cluster.spec.replicas)}
    for one, other in edges(overlay.static, cluster.spec.replicas):
        neighbours[str(one)].append(str(other))
    first = next(part for part in components(neighbours) if "0" in part)
    apart = [name for name in neighbours if name not in first]
    if not apart:
        return ""
    return (
        f"spec.overlay.static.edges would not connect {_some('ordinal', apart)} to ordinal 0."
        " Add edges between the ordinals"
    )


def _lost_nodes(cluster: PartisanCluster, observation: Observation, before: int) -> str:
    """Return which nodes would leave together with all of their component."""
    all_nodes = naming.pod_names(cluster.name, before)
    staying = frozenset(all_nodes[: cluster.spec.replicas])
    views = _views(observation, all_nodes)
    if not views:
        return ""  # no overlay to partition, no node with state
    servers = _servers(cluster, all_nodes)
    if not any(name in views for name in servers):
        return (
            f"of the servers that would remain, {_some('node', servers)}, none is in the"
            f" overlay. See why: kubectl describe pod {servers[0]}"
        )
    if staying.isdisjoint(views):
        return (
            "none of the nodes that would remain is in the overlay. See why: kubectl describe pod"
            f" {all_nodes[0]}"
        )
    lost = [part for part in components(views) if staying.isdisjoint(part)]
    if not lost:
        return ""
    names = [name for name in all_nodes if name in lost[0]]
    return (
        f"{_some('node', names)} would leave without handing over to a remaining node, because"
        " the overlay is partitioned. Wait until it is connected, check that the network lets"
        f" pods of this cluster reach each other, delete pod {names[0]} if its state may be lost"
    )


def _views(observation: Observation, nodes: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the views of those nodes that have joined the overlay."""
    return {
        name: report.overlay.active
        for name, report in observation.reports(nodes).items()
        if report.overlay.joined
    }


def _servers(cluster: PartisanCluster, all_nodes: Sequence[str]) -> Sequence[str]:
    """Return the nodes of which at least one must exist: all if none is a server or broker."""
    return all_nodes[: hubs(cluster)]


def _some(noun: str, names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    shown = ", ".join(names[:_MOST_NAMES])
    tail = f" and {more} more" if more > 0 else ""
    return f"{noun if len(names) == 1 else noun + 's'} {shown}{tail}"
