"""Runs the cells of an experiment that are not done, and shows the time that is left."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from rich.console import Console

from scale_tests.benches.experiments import cell, store
from scale_tests.benches.experiments.course import Place
from scale_tests.benches.experiments.experiment import Experiment, Point
from scale_tests.benches.experiments.selection import EVERYTHING, Selection
from scale_tests.cluster.capacity import capacity, shortage
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import ApiError, Cluster
from scale_tests.cluster.removal import renew_namespace
from scale_tests.host.units import MIB
from scale_tests.measure.bench import Session
from scale_tests.measure.cells import Result

LINE_SECONDS = 10.0
"""The interval between lines of progress while a cell runs."""

FIRST_SECONDS, SECONDS_PER_NODE = 15.0, 0.5
"""The assumed time of a cell next to its counting, until the first is done."""


def run(
    session: Session,
    experiment: Experiment,
    environment: Environment,
    *,
    selection: Selection = EVERYTHING,
    again: bool = False,
) -> list[Result]:
    """Runs every selected cell that is not done; returns all that are, in the matrix's order.

    Cells of more nodes than the cluster has room for are left out; the directory has the reason.
    Remains of an interrupted run are removed from the cluster first. With `again` incomplete cells
    are run again.

    Raises ExpectedError: the directory holds another experiment, or the cluster cannot be reached,
    or keeps such remains.
    """
    points = experiment.points()
    done = store.results(session, points)
    todo = to_do(points, done, selection, again=again)
    reasons = unselected(points, selection, store.left_out(session))
    if done:
        session.say(f"{len(done)} of {len(points)} cells are done already")
    try:
        if todo:
            reasons |= _run_all(session, experiment, environment, todo, done)
    finally:
        # Not before: the version of a checkout includes its changes.
        left = {slug: why for slug, why in reasons.items() if slug not in done}
        store.save_left_out(session, left)
    return [done[point.slug] for point in points if point.slug in done]


def to_do(
    points: Sequence[Point], done: Mapping[str, Result], selection: Selection, *, again: bool
) -> list[Point]:
    """The points that a run goes through; `done` has the results that there are, by slugs."""
    return [
        point
        for point in points
        if selection.takes(point)
        and (point.slug not in done or (again and done[point.slug].error is not None))
    ]


def unselected(
    points: Sequence[Point], selection: Selection, before: Mapping[str, str]
) -> dict[str, str]:
    """Reasons why unselected points are left out, by slugs: the previous one, or the selection."""
    return {
        point.slug: before.get(point.slug, f"not asked for: {selection.text}")
        for point in points
        if not selection.takes(point)
    }


def namespace_of(experiment: Experiment) -> str:
    """The place of its clusters."""
    return f"scale-{experiment.name}"


def _run_all(
    session: Session,
    experiment: Experiment,
    environment: Environment,
    todo: Sequence[Point],
    done: dict[str, Result],
) -> dict[str, str]:
    """Runs these cells, one after the other, and adds them to `done`.

    Returns why some were left out, by slugs.
    """
    console, cluster = session.console, Cluster(environment.kubeconfig)
    namespace = namespace_of(experiment)
    renew_namespace(cluster, namespace, restricted=True)
    place = Place(
        environment=environment,
        cluster=cluster,
        namespace=namespace,
        evidence=session.directory / "must-gather",
    )
    try:
        too_large = _too_large(console, place, {point.nodes for point in todo})
        fitting = [point for point in todo if point.nodes not in too_large]
        for index, point in enumerate(fitting):
            left = minutes(estimate(fitting[index:], list(done.values())))
            count = f"[bold]\\[{index + 1}/{len(fitting)}][/bold]"
            console.print(f"{count} {point.name}; about {left} left", highlight=False)
            done[point.slug] = found = cell.run(place, point, progress(console))
            session.keep(point.slug, found.json())
            console.print(f"  {outcome(found)}", highlight=False, markup=False, soft_wrap=True)
    finally:
        # An interruption does not wait; the next run would, and deletes it where this fails.
        with suppress(ApiError):
            cluster.delete(f"api/v1/namespaces/{namespace}")
    return {point.slug: too_large[point.nodes] for point in todo if point.nodes in too_large}


def _too_large(console: Console, place: Place, sizes: set[int]) -> dict[int, str]:
    """The sizes for which there is no room, with the reasons, which are printed."""
    pods, found = capacity(place.cluster), {}
    for nodes in sorted(nodes for nodes in sizes if nodes > pods.free):
        found[nodes] = shortage(place.environment, pods, nodes)
        text = f"Left out: {nodes:,} nodes: {found[nodes]}"
        console.print(text, highlight=False, soft_wrap=True)
    return found


def progress(console: Console, now: Callable[[], float] = time.monotonic) -> Callable[[str], None]:
    """Writes the lines that it is called with, one in `LINE_SECONDS`."""
    started, due = now(), 0.0

    def say(line: str) -> None:
        nonlocal due
        elapsed = now() - started
        if elapsed >= due:
            text = f"  {elapsed:5.0f} s  {line}"
            console.print(text, highlight=False, markup=False, soft_wrap=True)
            due = elapsed + LINE_SECONDS

    return say


def estimate(todo: Sequence[Point], finished: Sequence[Result]) -> float:
    """Seconds that the cells yet to run will take, by the time of those before next to counting."""
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
    """A duration in words."""
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
