"""Reasons why a run stalls, from the cluster's objects, in the order in which a user checks."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from scale_tests.cluster import operator
from scale_tests.cluster.kube import ApiError, Cluster
from scale_tests.cluster.must_gather import events, must_gather
from scale_tests.cluster.partisan import read_cluster
from scale_tests.host.commands import relative

LOG_LINES = 15
EVENT_LINES = 10


def explain(console: Console, cluster: Cluster, namespace: str, name: str, directory: Path) -> None:
    """Prints conditions, events and the operator's log, and saves the rest in `directory`."""
    try:
        console.print("\n[bold]Conditions[/bold]")
        for condition in read_cluster(cluster, namespace, name).conditions:
            _line(
                console,
                f"{condition.type}={condition.status}  {condition.reason}: {condition.message}",
            )
        console.print("\n[bold]Warnings among the last events[/bold]")
        warnings = [line for line in events(cluster, namespace) if " Warning " in line]
        for line in warnings[-EVENT_LINES:]:
            _line(console, line)
        console.print("\n[bold]End of the operator's log[/bold]")
        for line in operator.logs(cluster, lines=LOG_LINES).splitlines():
            _line(console, line)
        must_gather(cluster, namespace, directory)
    except ApiError as error:
        _line(console, f"The API server could not be asked any further: {error}")
    console.print(f"\nEverything else is in {relative(directory)}/.", highlight=False)


def _line(console: Console, text: str) -> None:
    console.print(f"  {text}", highlight=False, markup=False, soft_wrap=True)
