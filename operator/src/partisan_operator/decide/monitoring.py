"""Whether a cluster gets a PodMonitor of its own."""

from partisan_operator.decide.installation import Installation
from partisan_operator.models.metrics import MonitorMode
from partisan_operator.models.problem import Problem, Reason
from partisan_operator.observe.observation import PodMonitors


def wants_monitor(mode: MonitorMode, installation: Installation) -> bool:
    """Whether a cluster should have a PodMonitor where the kind is available."""
    match mode:
        case MonitorMode.DISABLED:
            return False
        case MonitorMode.AUTO:
            return not installation.nodes_monitored
        case MonitorMode.ENABLED:
            return True


def missing_kind(mode: MonitorMode, found: PodMonitors) -> Problem | None:
    """Return the problem of a cluster that requires a PodMonitor where the kind is missing."""
    if mode is not MonitorMode.ENABLED or found is not PodMonitors.UNAVAILABLE:
        return None
    return Problem(
        Reason.POD_MONITOR_UNAVAILABLE,
        "spec.metrics.podMonitor is Enabled, but the API server does not serve PodMonitors of"
        " monitoring.coreos.com/v1, or the operator has no right to them. Install the Prometheus"
        " operator, grant the operator the right to podmonitors, or set the field to Auto.",
    )
