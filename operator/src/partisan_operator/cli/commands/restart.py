"""`rollout restart NAME`: replaces all pods, by the rules of any rollout."""

from argparse import Namespace

from partisan_operator.cli import access
from partisan_operator.cli.access import CommandError, Context
from partisan_operator.cli.kubectl import KubectlError

ANNOTATION = "kubectl.kubernetes.io/restartedAt"
"""As `kubectl rollout restart` names it, in the pods of a Deployment."""


def run_restart(context: Context, arguments: Namespace) -> int:
    """Annotate the pods with the time, so that the pods without it are outdated.

    Raises `CommandError` if the API server refuses the annotation.
    """
    cluster = access.cluster_of(context, arguments.name)
    annotations = {ANNOTATION: f"{context.now():%Y-%m-%dT%H:%M:%SZ}"}
    patch = {"spec": {"pods": {"annotations": annotations}}}
    try:
        context.api.merge(context.namespace, access.RESOURCE, cluster.name, patch)
    except KubectlError as error:
        raise CommandError(f"refused, nothing was changed: {error}") from None
    access.follow(context, cluster, "Restarting.")
    return 0
