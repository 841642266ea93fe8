"""`pause NAME` and `resume NAME`: whether the operator acts on a cluster or only observes it."""

from argparse import Namespace

from partisan_operator.cli import access
from partisan_operator.cli.access import Context


def run_pause(context: Context, arguments: Namespace) -> int:
    """Pause the operator's changes of the cluster until `resume`."""
    return _set(context, arguments.name, paused=True)


def run_resume(context: Context, arguments: Namespace) -> int:
    """Let the operator change the cluster again."""
    return _set(context, arguments.name, paused=False)


def _set(context: Context, name: str, *, paused: bool) -> int:
    cluster = access.cluster_of(context, name)
    word = "paused" if paused else "resumed"
    if cluster.spec.paused == paused:
        context.write(f"{name} was {word} already")
        return 0
    context.api.merge(context.namespace, access.RESOURCE, name, {"spec": {"paused": paused}})
    context.write(f"{name} {word}")
    return 0
