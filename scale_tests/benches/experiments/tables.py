"""The tables of a report. Each states the time compression of its cells."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scale_tests.benches.experiments import comparison
from scale_tests.benches.experiments.comparison import Simulated
from scale_tests.benches.experiments.experiment import Experiment
from scale_tests.benches.experiments.provenance import speed
from scale_tests.cluster.kube import Json
from scale_tests.host.documents import data_of
from scale_tests.host.units import GIB, MIB
from scale_tests.measure import synchronization
from scale_tests.measure.cells import Result
from scale_tests.measure.page import Table
from scale_tests.measure.tables import forms, tabulated

Cell = Result | Simulated

_TEXT = data_of(__file__)
NOT_YET = "the run has not reached it: the same command continues"


def figures(cell: Result) -> dict[str, Any]:
    """The figures of a cell in the units of tables and pictures; None where they are not known."""
    rest = cell.at_rest
    return {
        **_transmitted(cell),
        "slowdown": cell.slowdown,
        "intervals_to_converge": cell.intervals_to_converge,
        "memory_mib_per_node": cell.memory_bytes_per_node / MIB,
        "control_plane_mib": sum(part.memory_bytes for part in cell.control_plane) / MIB,
        "control_plane_cpu_seconds": sum(part.cpu_seconds for part in cell.control_plane),
        "busy_before_percent": None if cell.busy_before is None else 100 * cell.busy_before,
        "rest_busy_percent": rest and 100 * rest.busy,
        "rest_memory_gib": rest and rest.memory_bytes / GIB,
        "rest_swapped_gib": rest and rest.swapped_bytes / GIB,
        "rest_seconds": rest and rest.seconds,
    }


def _transmitted(cell: Cell) -> dict[str, Any]:
    tcp = cell.bytes_tcp
    return {
        **vars(cell),
        "payload": cell.bytes_payload / GIB,
        "frames": cell.bytes_frames / GIB,
        "tcp": None if tcp is None else tcp / GIB,
        "payload_mib_per_node": cell.bytes_payload / cell.nodes / MIB,
        "frames_mib_per_node": cell.bytes_frames / cell.nodes / MIB,
        "tcp_mib_per_node": None if tcp is None else tcp / cell.nodes / MIB,
    }


def less(cells: Iterable[Cell]) -> str:
    """A note where one way to synchronise does less than the others."""
    if all(cell.synchronization != "Aggregate" for cell in cells):
        return ""
    return "Aggregate carries less information: nodes learn the sums, not each other's counts. "


def transmission(
    experiment: Experiment, results: Sequence[Result], rows: Sequence[Simulated]
) -> Table:
    """Bytes sent, counted three ways; with the published and simulated ones, and the least."""
    comparable = comparison.is_repeated_by(experiment.ad_counter)
    cells: list[Cell] = [*_sorted(experiment, results), *rows]

    def row(cell: Cell) -> dict[str, Any]:
        sent = _transmitted(cell)
        theirs = comparison.published(cell.overlay, cell.synchronization).get(cell.nodes)
        return {
            **sent,
            "trial": cell.label if isinstance(cell, Simulated) else cell.trial,
            "published": theirs if comparable else None,
            "gain": theirs / sent["payload"] if comparable and theirs and sent["payload"] else None,
            "least": synchronization.least(cell.nodes) if comparable else None,
            "converged": "yes" if cell.converged else "NO",
        }

    rest = f"{less(cells)}{speed(results)}{comparison.note(rows)}"
    return _table("transmission", [row(cell) for cell in cells], rest)


def others(experiment: Experiment, results: Sequence[Result]) -> list[Table]:
    """Times and resources of the cells; the machine at rest, where it was watched."""
    shown = [figures(cell) for cell in _sorted(experiment, results)]
    watched = [row for row in shown if row["at_rest"]]
    return [
        _table(name, rows, speed(results))
        for name, rows in (("times", shown), ("resources", shown), ("rest", watched))
        if rows
    ]


def _table(name: str, rows: Sequence[Mapping[str, Any]], rest: str) -> Table:
    columns = forms({**_TEXT["key"], **_TEXT["columns"][name]}, missing="-")
    return tabulated(columns, rows, _TEXT[name].format(rest=rest))


def _sorted(experiment: Experiment, results: Sequence[Result]) -> list[Result]:
    """As tables show them: along the sizes, which are in order."""
    overlays = [overlay.name for overlay in experiment.overlays]
    modes = experiment.synchronizations

    def row(cell: Result) -> tuple[int, int]:
        return overlays.index(cell.overlay), modes.index(cell.synchronization)

    return sorted(results, key=row)


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
