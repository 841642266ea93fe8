"""All children of a cluster together."""

from dataclasses import dataclass

from partisan_operator.children import (
    app_service,
    config_map,
    disruption_budget,
    naming,
    network_policy,
    pod_monitor,
    service,
    stateful_set,
)
from partisan_operator.children.child import Child
from partisan_operator.children.naming import Shard
from partisan_operator.models import PartisanCluster

KINDS = ("StatefulSet", "Service", "ConfigMap", "PodDisruptionBudget", "NetworkPolicy")
"""The kinds that are applied. Token and bearer are not: they are generated once."""


@dataclass(frozen=True)
class DesiredChildren:
    """The children that a cluster should have, without its Secrets."""

    foundations: tuple[Child, ...]
    """Children that pods depend on: applied first."""

    stateful_sets: tuple[Child, ...]
    """One for each shard."""

    guards: tuple[Child, ...]
    """Protection of a complete cluster. Before all pods were ready there is nothing to protect, and
    each starting pod would cause a write of the budget's status."""

    monitors: tuple[Child, ...] = ()
    """Discovery for Prometheus. Not every API server serves the kind, so it is not in `KINDS`."""

    @property
    def all(self) -> tuple[Child, ...]:
        """All children."""
        return (*self.foundations, *self.stateful_sets, *self.guards, *self.monitors)

    def find(self, kind: str, name: str) -> Child | None:
        """Return the child of that kind and name, if the cluster should have it."""
        return next((entry for entry in self.all if entry.key == (kind, name)), None)


def desired_children(
    cluster: PartisanCluster, default_image: str, *, bearer: bool = True
) -> DesiredChildren:
    """Return the children of a cluster; `default_image` runs where the spec names none.

    `bearer` is whether the image supports the bearer: see `node_http`.
    """
    shards = naming.shards_of(cluster.name, cluster.spec.replicas)
    policies = (network_policy.build(cluster),) if cluster.spec.network_policy.enabled else ()
    return DesiredChildren(
        foundations=(
            config_map.build(cluster),
            *(service.build(cluster, shard) for shard in shards),
            *app_service.build(cluster),
            *policies,
        ),
        stateful_sets=tuple(
            stateful_set.build(cluster, shard, default_image, bearer=bearer) for shard in shards
        ),
        guards=(disruption_budget.build(cluster),),
        monitors=(pod_monitor.build(cluster),),
    )


def emptied_shard(
    cluster: PartisanCluster, index: int, default_image: str, *, bearer: bool
) -> Child:
    """Return the StatefulSet of a shard that is no longer wanted, without replicas.

    A shard is emptied before it is deleted, so that its nodes leave the overlay as in any
    scale-down.
    """
    return stateful_set.build(cluster, Shard(cluster.name, index, 0), default_image, bearer=bearer)
