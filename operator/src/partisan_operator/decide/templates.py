"""The templates of pods in a cluster's StatefulSets."""

from collections.abc import Mapping
from typing import Any

from partisan_operator.models import PartisanCluster
from partisan_operator.observe.observation import Observation


def live_templates(
    cluster: PartisanCluster, observation: Observation
) -> tuple[Mapping[str, Any], ...]:
    """Return the templates in the cluster's own StatefulSets, in the order of their names."""
    names = sorted(shard.name for shard in observation.shards(cluster))
    return tuple(observation.live["StatefulSet", name]["spec"]["template"] for name in names)


def image_of(template: Mapping[str, Any]) -> str:
    """Return the nodes' image in a template."""
    return str(template["spec"]["containers"][0]["image"])
