"""Which orphans a cluster adopts.

It does nothing else before that: its other decisions depend on which pods and Secrets are its own.
"""

from collections.abc import Iterator

from partisan_operator.children import DesiredChildren, naming
from partisan_operator.children.child import owned_by
from partisan_operator.children.orphan import Orphan, differing_field, orphan_of
from partisan_operator.decide.problems import name_conflict, orphan_conflict
from partisan_operator.models import PartisanCluster
from partisan_operator.models.problem import Problem
from partisan_operator.observe.observation import Observation


def orphans(
    cluster: PartisanCluster, desired: DesiredChildren, observation: Observation
) -> Iterator[Orphan]:
    """Return the orphans among the wanted children, and those of shards that are to be removed."""
    for (kind, name), live in observation.live.items():
        wanted = desired.find(kind, name) is not None
        labelled = naming.SHARD_LABEL in (live["metadata"].get("labels") or {})
        of_shard = labelled and naming.shard_index(cluster.name, name) is not None
        found = orphan_of(kind, live, cluster.name)
        if found is not None and (wanted or of_shard):
            yield found


def conflict(
    cluster: PartisanCluster, desired: DesiredChildren, observation: Observation
) -> Problem | None:
    """Return the problem of a child's name that is taken.

    By a foreign object, or by an orphan that cannot become this child.
    """
    for child in desired.all:
        live = observation.live.get(child.key)
        if live is None or owned_by(live, cluster.uid):
            continue
        if orphan_of(child.kind, live, cluster.name) is None:
            return name_conflict(child.kind, child.name)
        if field := differing_field(child, live):
            return orphan_conflict(child.kind, child.name, field)
    return None
