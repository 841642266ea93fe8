"""The tables of a report. Each states the time compression of its cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from scale_tests.benches.experiments import published, simulated
from scale_tests.benches.experiments.experiment import Experiment
from scale_tests.benches.experiments.provenance import speed
from scale_tests.benches.experiments.simulated import Simulated
from scale_tests.cluster.kube import Json
from scale_tests.host.documents import data_of
from scale_tests.host.units import GIB, MIB, seconds
from scale_tests.measure import synchronization
from scale_tests.measure.cells import Rest, Result
from scale_tests.measure.page import Table
from scale_tests.measure.tables import Column, tabulated

Cell = Result | Simulated

_CAPTIONS = data_of(__file__)
NOT_YET = "the run has not reached it: the same command continues"


def _known(value: float | None, form: str, times: float = 1) -> str:
    return "-" if value is None else format(times * value, form)


def _at_rest(of: Callable[[Rest], float], form: str) -> Callable[[Result], str]:
    return lambda cell: format(of(cell.at_rest), form) if cell.at_rest else "-"


KEY: tuple[Column[Cell], ...] = (
    ("overlay", lambda cell: cell.overlay),
    ("synchronization", lambda cell: cell.synchronization),
    ("nodes", lambda cell: f"{cell.nodes:,}"),
    ("trial", lambda cell: cell.label if isinstance(cell, Simulated) else str(cell.trial)),
)

TIMES: tuple[Column[Result], ...] = (
    *KEY,
    ("ready", lambda cell: seconds(cell.seconds_to_ready)),
    ("joined", lambda cell: seconds(cell.seconds_to_joined)),
    ("running", lambda cell: seconds(cell.seconds_running)),
    ("converging", lambda cell: seconds(cell.seconds_to_converge)),
    ("converging, intervals", lambda cell: seconds(cell.intervals_to_converge)),
    ("running / counting", lambda cell: _known(cell.slowdown, ".2f")),
    ("overcounting, %", lambda cell: f"{cell.overcounting_percent:.2f}"),
    ("deleting", lambda cell: seconds(cell.seconds_to_delete)),
    ("whole cell", lambda cell: seconds(cell.seconds_in_all)),
)

RESOURCES: tuple[Column[Result], ...] = (
    *KEY,
    ("memory per node, MiB", lambda cell: f"{cell.memory_bytes_per_node / MIB:.1f}"),
    ("which", lambda cell: cell.memory_kind),
    ("CPU per node, s", lambda cell: f"{cell.cpu_seconds_per_node:.2f}"),
    ("mean degree", lambda cell: f"{cell.mean_degree:.2f}"),
    (
        "control plane, MiB",
        lambda cell: f"{sum(part.memory_bytes for part in cell.control_plane) / MIB:.0f}",
    ),
    (
        "control plane, CPU s",
        lambda cell: f"{sum(part.cpu_seconds for part in cell.control_plane):.1f}",
    ),
    ("machine busy before, %", lambda cell: _known(cell.busy_before, ".0f", 100)),
    ("restarts", lambda cell: str(cell.restarts)),
)

REST: tuple[Column[Result], ...] = (
    *KEY,
    ("processors busy, %", _at_rest(lambda rest: 100 * rest.busy, ".0f")),
    ("memory in use, GiB", _at_rest(lambda rest: rest.memory_bytes / GIB, ".1f")),
    ("swapped out, GiB", _at_rest(lambda rest: rest.swapped_bytes / GIB, ".1f")),
    ("watched for, s", _at_rest(lambda rest: rest.seconds, ".0f")),
)


def less(cells: Iterable[Cell]) -> str:
    """A note where one way to synchronise does less than the others."""
    if all(cell.synchronization != "Aggregate" for cell in cells):
        return ""
    return "Aggregate carries less information: nodes learn the sums, not each other's counts. "


def transmission(
    experiment: Experiment, results: Sequence[Result], rows: Sequence[Simulated]
) -> Table:
    """Bytes sent, counted three ways; with the published and simulated ones, and the least."""
    comparable = published.is_repeated_by(experiment.ad_counter)
    shown: list[Cell] = [*_sorted(experiment, results), *rows]

    def theirs(cell: Cell) -> float | None:
        by_nodes = published.transmission(cell.overlay, cell.synchronization)
        return by_nodes.get(cell.nodes) if comparable else None

    def gain(cell: Cell) -> str:
        payload, value = cell.bytes_payload / GIB, theirs(cell)
        return f"{value / payload:.1f}" if value and payload else ""

    columns: tuple[Column[Cell], ...] = (
        *KEY,
        ("payload", lambda cell: f"{cell.bytes_payload / GIB:.4g}"),
        ("published", lambda cell: f"{value:g}" if (value := theirs(cell)) else ""),
        ("published / ours", gain),
        ("least", lambda cell: f"{synchronization.least(cell.nodes):.2g}" if comparable else ""),
        ("frames", lambda cell: f"{cell.bytes_frames / GIB:.4g}"),
        ("TCP", lambda cell: _known(cell.bytes_tcp, ".4g", 1 / GIB)),
        ("payload per node, MiB", lambda cell: f"{cell.bytes_payload / cell.nodes / MIB:.3g}"),
        ("converged", lambda cell: "yes" if cell.converged else "NO"),
    )
    rest = f"{less(shown)}{speed(results)}{simulated.note(rows)}"
    caption = _CAPTIONS["transmission"].format(rest=rest)
    return tabulated(columns, shown, caption)


def others(experiment: Experiment, results: Sequence[Result]) -> list[Table]:
    """Times and resources of the cells; the machine at rest, where it was watched."""
    shown = _sorted(experiment, results)
    watched = [cell for cell in shown if cell.at_rest is not None]
    return [
        tabulated(columns, rows, _CAPTIONS[caption].format(rest=speed(results)))
        for caption, columns, rows in (
            ("times", TIMES, shown),
            ("resources", RESOURCES, shown),
            ("rest", REST, watched),
        )
        if rows
    ]


def _sorted(experiment: Experiment, results: Sequence[Result]) -> list[Result]:
    """As tables show them: along the sizes."""
    overlays = [overlay.name for overlay in experiment.overlays]
    modes = experiment.synchronizations
    return sorted(
        results,
        key=lambda cell: (
            overlays.index(cell.overlay),
            modes.index(cell.synchronization),
            cell.nodes,
            cell.trial,
        ),
    )


def not_run(
    experiment: Experiment, results: Iterable[Result], reasons: Mapping[str, str]
) -> list[Json]:
    """The points of the matrix without a result, as documents have them.

    Reasons are by the points' slugs.
    """
    done = {(cell.nodes, cell.overlay, cell.synchronization, cell.trial) for cell in results}
    return [
        {
            "nodes": point.nodes,
            "overlay": point.overlay.name,
            "synchronization": point.synchronization,
            "trial": point.trial,
            "reason": reasons.get(point.slug, NOT_YET),
        }
        for point in experiment.points()
        if (point.nodes, point.overlay.name, point.synchronization, point.trial) not in done
    ]


def not_run_table(experiment: Experiment, missing: Sequence[Json]) -> Table:
    """A row for the cells of a size and an overlay that have a reason in common."""
    rows: dict[tuple[str, int, str], list[str]] = {}
    for cell in missing:
        trial = f" #{cell['trial']}" if experiment.trials > 1 else ""
        key = (cell["overlay"], cell["nodes"], cell["reason"])
        rows.setdefault(key, []).append(f"{cell['synchronization']}{trial}")
    return Table(
        head=("overlay", "synchronizations", "nodes", "why"),
        rows=[
            [overlay, ", ".join(modes), f"{nodes:,}", reason]
            for (overlay, nodes, reason), modes in rows.items()
        ],
    )
