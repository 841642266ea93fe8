"""How the nodes' metrics are collected."""

from enum import StrEnum

from pydantic import ConfigDict, Field

from partisan_operator.models.base import Resource, Rule, rules
from partisan_operator.models.pods import Labels
from partisan_operator.models.quantities import ScrapeInterval

DEFAULT_INTERVAL = "15s"


class MonitorMode(StrEnum):
    """Whether a cluster has a PodMonitor of its own.

    Not On and Off, which YAML reads as booleans.
    """

    AUTO = "Auto"
    ENABLED = "Enabled"
    DISABLED = "Disabled"


class Metrics(Resource):
    """How the nodes' metrics are collected."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "self.podMonitor != 'Disabled' || !has(self.labels) || self.labels.size() == 0",
                "labels belong to the PodMonitor, and podMonitor is Disabled: remove labels or"
                " change podMonitor",
                ".labels",
            ),
            Rule(
                f"self.podMonitor != 'Disabled' || self.interval == '{DEFAULT_INTERVAL}'",
                "interval belongs to the PodMonitor, and podMonitor is Disabled: remove interval"
                " or change podMonitor",
                ".interval",
            ),
        )
    )

    pod_monitor: MonitorMode = MonitorMode.AUTO
    """A PodMonitor of the Prometheus operator for this cluster alone. Auto: if the API server
    serves the kind and no PodMonitor of the installation scrapes the nodes of all clusters.
    Enabled: always; the cluster is Degraded where the kind is missing, and its nodes are scraped
    twice where the installation has a PodMonitor too. Disabled: none."""

    interval: ScrapeInterval = DEFAULT_INTERVAL
    """How often Prometheus scrapes each node by that PodMonitor."""

    labels: Labels = Field(default_factory=dict)
    """Additional labels of the PodMonitor, to match the `podMonitorSelector` of a Prometheus."""
