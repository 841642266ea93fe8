"""Whether a cluster has a PodMonitor of its own: what its spec asks for, and what there is."""

from __future__ import annotations

from enum import Enum

from partisan_operator.diagnosis import Problem, Reason
from partisan_operator.models.metrics import MonitorMode


class Monitoring(Enum):
    """What was found out about PodMonitors."""

    UNKNOWN = "not looked at"
    NO_KIND = "the API server serves no PodMonitors, or lets this operator have none"
    INSTALLED = "there may be some, and one of the installation scrapes the nodes of all clusters"
    POSSIBLE = "there may be some"


def wants_monitor(mode: MonitorMode, found: Monitoring) -> bool:
    """Say whether a cluster is to have a PodMonitor."""
    match mode:
        case MonitorMode.DISABLED:
            return False
        case MonitorMode.AUTO:
            return found is Monitoring.POSSIBLE
        case MonitorMode.ENABLED:
            return found in (Monitoring.POSSIBLE, Monitoring.INSTALLED)


def missing_kind(mode: MonitorMode, found: Monitoring) -> Problem | None:
    """Return the problem that a cluster asks for a PodMonitor where there can be none."""
    if mode is not MonitorMode.ENABLED or found is not Monitoring.NO_KIND:
        return None
    return Problem(
        Reason.POD_MONITOR_UNAVAILABLE,
        "spec.metrics.podMonitor is Enabled, and the API server serves no PodMonitors of"
        " monitoring.coreos.com/v1, or lets the operator have none. Install the Prometheus"
        " operator, give the operator the right to podmonitors, or set the field to Auto.",
    )
