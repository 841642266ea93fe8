"""Problems that forbid the operator to act on the objects of a cluster."""

from partisan_operator.models.problem import Problem, Reason


def name_conflict(kind: str, name: str) -> Problem:
    """Return the problem of a foreign object that has the name of a child."""
    return Problem(
        Reason.NAME_CONFLICT,
        f"{kind} {name} exists and does not belong to this cluster. Delete it or give this"
        " PartisanCluster another name.",
    )


def orphan_conflict(kind: str, name: str, field: str) -> Problem:
    """Return the problem of an orphan whose immutable field differs from the child's."""
    return Problem(
        Reason.NAME_CONFLICT,
        f"{kind} {name} is left from an earlier cluster of this name. It cannot be adopted: its"
        f" {field}, which cannot change, differs from that of this cluster. Delete it, correct the"
        " spec, or give this PartisanCluster another name.",
    )


def invalid_token(name: str) -> Problem:
    """Return the problem of a token Secret without a valid token."""
    return Problem(
        Reason.TOKEN_INVALID,
        f"Secret {name} holds no token of 64 hexadecimal digits under the key token. Delete it"
        " and all pods, so that the operator creates a new one.",
    )


def invalid_bearer(name: str) -> Problem:
    """Return the problem of a bearer Secret without a valid bearer."""
    return Problem(
        Reason.BEARER_INVALID,
        f"Secret {name} holds no bearer of 64 hexadecimal digits under the key bearer. Delete it,"
        " so that the operator creates a new one; no pod is replaced.",
    )


def token_lost(name: str, cluster: str) -> Problem:
    """Return the problem of a token that was deleted while pods run with it."""
    return Problem(
        Reason.TOKEN_LOST,
        f"Secret {name} was deleted. The running nodes continue, but no pod can start, and the"
        " operator creates no other token, since pods with it would not connect to the running"
        " ones. Restore the Secret from a backup, or delete all pods for a new token: kubectl"
        f" delete pod -l partisan.dev/cluster={cluster}. That loses the state of the nodes.",
    )
