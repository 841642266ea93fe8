"""`rollout status NAME`: follow a change until the cluster matches its spec."""

import time
from argparse import Namespace
from collections.abc import Callable

from partisan_operator.cli import access
from partisan_operator.cli.access import CommandError, Context
from partisan_operator.cli.kubectl import KubectlError
from partisan_operator.models import PartisanCluster
from partisan_operator.models.status import ConditionType

PERIOD = 1.0
"""Seconds between two reads."""

MOST_FAILURES = 30
"""Reads in a row that may fail once the cluster was read."""

REFUSALS = ("Forbidden", "Unauthorized", "NotFound")
"""Reasons of the API server that another read does not change."""


def run_status(
    context: Context,
    arguments: Namespace,
    *,
    sleep: Callable[[float], None] = time.sleep,
    monotonic: Callable[[], float] = time.monotonic,
) -> int:
    """Write a line for each progress until the cluster is settled.

    Raises `CommandError` after the timeout, or if the cluster is paused.
    """
    deadline = monotonic() + arguments.timeout if arguments.timeout else None
    shown, failures = "", 0
    while True:
        try:
            cluster = access.cluster_of(context, arguments.name)
        except KubectlError as error:
            failures += 1
            late = deadline is not None and monotonic() >= deadline
            # The change goes on while the API server restarts, or its etcd elects a leader.
            if not shown or error.reason in REFUSALS or failures > MOST_FAILURES or late:
                raise
            sleep(PERIOD)
            continue
        failures = 0
        line, settled = progress(cluster)
        if line != shown:
            context.write(line)
            shown = line
        if settled or not arguments.watch:
            return 0
        if cluster.spec.paused:
            own = f"kubectl partisan -n {context.namespace}"
            raise CommandError(f"{cluster.name} is paused: {own} resume {cluster.name}")
        if deadline is not None and monotonic() >= deadline:
            raise CommandError(f"not settled within {arguments.timeout:g} s: {line}")
        sleep(PERIOD)


def progress(cluster: PartisanCluster) -> tuple[str, bool]:
    """Return the progress of the change, and whether it is complete."""
    status, wanted = cluster.status, cluster.spec.replicas
    degraded = status.condition(ConditionType.DEGRADED)
    # A failed reconcile reports the newest spec in its condition alone.
    if (status.observed_generation or 0) < cluster.generation and not (
        degraded is not None and degraded.observed_generation == cluster.generation
    ):
        return "Waiting for the operator to see the newest spec", False
    progressing = status.condition(ConditionType.PROGRESSING)
    counts = (
        f"{status.updated} of {wanted} pods up to date, {status.ready} ready,"
        f" {status.joined} joined, {status.configured} follow the spec"
    )
    if degraded is not None and degraded.status == "True":
        return f"Stopped: {degraded.reason}: {degraded.message} ({counts})", False
    if progressing is not None and progressing.status == "False" and not cluster.spec.paused:
        return f"{progressing.reason}: {progressing.message} ({counts})", True
    why = "Waiting" if progressing is None else f"{progressing.reason}: {progressing.message}"
    return f"{why} ({counts})", False
