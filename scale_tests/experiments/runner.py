"""Going through the cells of an experiment, those that are done left out."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence

from rich.console import Console

from scale_tests.experiments import cell
from scale_tests.experiments.course import Place
from scale_tests.experiments.experiment import Experiment, Point
from scale_tests.experiments.result import Result
from scale_tests.experiments.store import Store
from scale_tests.harness.capacity import capacity
from scale_tests.harness.environment import Environment
from scale_tests.harness.kube import Cluster
from scale_tests.harness.removal import remove_namespace
from scale_tests.results.units import MIB

LINE_SECONDS = 10.0
"""How often a line of progress is written while a cell runs."""

FIRST_SECONDS, SECONDS_PER_NODE = 15.0, 0.5
"""What a cell is taken to need beside its counting, until the first has told."""


def run(
    console: Console,
    experiment: Experiment,
    store: Store,
    environment: Environment,
    *,
    again: bool = False,
) -> list[Result]:
    """Runs every cell that is not done, and returns all that are in the order of the matrix.

    Cells of more nodes than the cluster has room for are left out, which is said. What an
    interrupted run has left in the cluster is removed first. With `again` cells that did not come
    to their end are run anew.

    Raises:
        StoreError: the directory holds another experiment.
        ApiError, StalledError: the cluster cannot be reached, or does not get rid of what is left.
    """
    points = experiment.points()
    done = {point.slug: found for point in points if (found := store.find(point))}
    if again:
        done = {slug: found for slug, found in done.items() if found.error is None}
    todo = [point for point in points if point.slug not in done]
    if done:
        console.print(f"{len(done)} of {len(points)} cells are done already", highlight=False)
    if todo:
        _run_all(console, experiment, store, environment, todo, done)
    return [done[point.slug] for point in points if point.slug in done]


def _run_all(
    console: Console,
    experiment: Experiment,
    store: Store,
    environment: Environment,
    todo: Sequence[Point],
    done: dict[str, Result],
) -> None:
    """Runs these cells, one after the other, and adds them to `done`."""
    cluster = Cluster(environment.kubeconfig)
    namespace = f"scale-{experiment.name}"
    remove_namespace(cluster, namespace)
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    cluster.create("api/v1/namespaces", {"metadata": {"name": namespace, "labels": labels}})
    place = Place(
        environment=environment,
        cluster=cluster,
        namespace=namespace,
        evidence=store.directory / "must-gather",
    )
    try:
        todo = _fitting(console, cluster, todo)
        for index, point in enumerate(todo):
            left = estimate(todo[index:], list(done.values()))
            console.print(
                f"[bold]\\[{len(done) + 1}/{len(done) + len(todo) - index}][/bold] {point.name}; "
                f"about {minutes(left)} left",
                highlight=False,
            )
            found = cell.run(place, point, Progress(console))
            done[point.slug] = found
            store.save(point, found)
            console.print(f"  {outcome(found)}", highlight=False, markup=False, soft_wrap=True)
    finally:
        # An interruption does not wait; the next run would.
        cluster.delete(f"api/v1/namespaces/{namespace}")


def _fitting(console: Console, cluster: Cluster, points: Sequence[Point]) -> Sequence[Point]:
    """The points for whose pods there is room; says which there is none for."""
    pods = capacity(cluster)
    for nodes in sorted({point.nodes for point in points if point.nodes > pods.free}):
        console.print(
            f"Left out: {nodes:,} nodes, for the cluster has room for {pods.free:,} more pods "
            f"(a local one takes more with {pods.advice(nodes)})",
            highlight=False,
            soft_wrap=True,
        )
    return [point for point in points if point.nodes <= pods.free]


class Progress:
    """Writes what a cell tells, but not more often than somebody wants to read."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._started = time.monotonic()
        self._next = 0.0

    def __call__(self, line: str) -> None:
        """Takes a line."""
        elapsed = time.monotonic() - self._started
        if elapsed >= self._next:
            text = f"  {elapsed:5.0f} s  {line}"
            self._console.print(text, highlight=False, markup=False, soft_wrap=True)
            self._next = elapsed + LINE_SECONDS


def estimate(todo: Sequence[Point], finished: Sequence[Result]) -> float:
    """Seconds that the cells yet to run will take, from what those before took beside counting."""
    if not todo:
        return 0.0
    per_node = SECONDS_PER_NODE
    if finished:
        counting = {point.nodes: point.counting_seconds() for point in todo[0].experiment.points()}
        per_node = statistics.median(
            max(0.0, found.seconds_in_all - counting[found.nodes] - FIRST_SECONDS) / found.nodes
            for found in finished
        )
    return sum(FIRST_SECONDS + point.counting_seconds() + per_node * point.nodes for point in todo)


def minutes(seconds: float) -> str:
    """A duration as people say it."""
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def outcome(found: Result) -> str:
    """A finished cell in one line."""
    if found.error is not None:
        return f"FAILED after {found.seconds_in_all:.0f} s: {found.error}"
    return (
        f"{'converged' if found.converged else 'NOT CONVERGED'}: {found.value} impressions, "
        f"payload {found.bytes_payload / MIB:.1f} MiB, frames {found.bytes_frames / MIB:.1f} MiB, "
        f"joined in {found.seconds_to_joined} s, {found.seconds_in_all:.0f} s in all"
    )
