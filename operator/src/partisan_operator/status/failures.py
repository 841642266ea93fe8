"""Problems of a reconcile that failed."""

from partisan_operator.models import PartisanCluster
from partisan_operator.models.problem import Problem, Reason, shortened
from partisan_operator.models.status import ConditionType


def reconcile_failure(request: str, message: str, *, transient: bool) -> Problem:
    """Return the problem of a cluster that could not be observed."""
    detail = f" ({request})" if request else ""
    return Problem(
        Reason.RECONCILE_FAILED,
        f"The operator cannot reconcile this cluster: {shortened(message)}{detail}. It tries again"
        " with growing pauses.",
        transient,
    )


def operator_fault(error: Exception) -> Problem:
    """Return the problem of a fault in the operator."""
    return Problem(
        Reason.RECONCILE_FAILED,
        f"The operator cannot reconcile this cluster: {type(error).__name__}:"
        f" {shortened(str(error))}. This is a fault of the operator: its log has the details. It"
        " tries again with growing pauses.",
    )


def invalid_spec(message: str) -> Problem:
    """Return the problem of a spec that the operator cannot read."""
    return Problem(
        Reason.INVALID_SPEC,
        f"This version of the operator cannot read the spec: {shortened(message)}. Install the"
        " operator and the CustomResourceDefinition of the same release.",
    )


def is_due(cluster: PartisanCluster, problem: Problem, *, persists: bool) -> bool:
    """Whether a problem is to be reported: it persists, or is reported already."""
    degraded = cluster.status.condition(ConditionType.DEGRADED)
    reported = degraded is not None and degraded.reason == problem.reason
    return not problem.transient or reported or persists
