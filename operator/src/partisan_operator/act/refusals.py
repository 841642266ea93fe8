"""Problems of a plan that the API server or the nodes refused."""

from collections.abc import Sequence

from partisan_operator.models.problem import Problem, Reason, shortened


def orders_refused(refusals: Sequence[str], *, unauthorized: bool, bearer: bool) -> Problem:
    """Return the problem of nodes that refuse orders, with their answers.

    `unauthorized` is whether the credentials are the reason; `bearer`, whether these were the
    bearer or, for pods of an earlier operator, the token.
    """
    nodes = f"{len(refusals)} nodes refuse the configuration, such as {shortened(refusals[0])}"
    if not unauthorized:
        return Problem(Reason.CONFIGURATION_REFUSED, f"{nodes}.")
    if bearer:
        return Problem(
            Reason.BEARER_REFUSED,
            f"{nodes}. A new bearer reaches running nodes within two minutes, and the order is"
            " repeated. If this persists, spec.image is older than the operator: change it.",
        )
    return Problem(
        Reason.TOKEN_MISMATCH,
        f"{nodes}. Their token differs from the Secret's, so no new pod can join them. Restore"
        " the Secret from a backup, or delete all pods, which loses the state of the nodes.",
    )


def override_refused(message: str, *, transient: bool) -> Problem:
    """Return the problem of pods that the API server refuses with `spec.pods.override`."""
    return Problem(
        Reason.OVERRIDE_REFUSED,
        f"The API server refuses the pods with spec.pods.override: {shortened(message)}. Nothing is"
        " changed until it is corrected. The operator retries with growing pauses.",
        transient,
    )


def apply_failure(request: str, message: str, *, transient: bool) -> Problem:
    """Return the problem of a request that the API server refused."""
    return Problem(
        Reason.APPLY_FAILED,
        f"The API server refused to {request}: {shortened(message)}. Change the part of the spec"
        " that it names, or the operator's rights. The operator retries with growing pauses.",
        transient,
    )
