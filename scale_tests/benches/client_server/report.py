"""From the runs to targets, tables and the page."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scale_tests.benches.client_server import experiment, figures
from scale_tests.benches.client_server.experiment import Run
from scale_tests.benches.client_server.figures import growth, peak, run_of
from scale_tests.host.documents import data_of
from scale_tests.host.units import GIB
from scale_tests.measure.checks import Check, at_least, at_most
from scale_tests.measure.page import Table
from scale_tests.measure.spread import Cell
from scale_tests.measure.tables import tabulated

MOST_GROWTH = 1.25
"""Growth of a bounded server's memory from the second quarter of a run to its last, at most."""

COLLAPSE = 4.0
"""Memory of the server without bounds over that of the bounded one, at least."""

_TEXT: Mapping[str, str] = data_of(__file__)

_RUNS: dict[str, Callable[[Cell], str]] = {
    "run": lambda cell: run_of(cell).title,
    "time compression": lambda cell: f"{cell['speedup']:g}",
    "increments": lambda cell: f"{cell['increments_sum']:,}" if _ended(cell) else "-",
    "per node": lambda cell: f"{cell['increments']:,}",
    "joining, s": lambda cell: f"{cell['seconds_joining']:,.0f}",
    "run, s": lambda cell: f"{figures.lasted(cell):,.0f}",
    "value": lambda cell: ", ".join(f"{v:,}" for v in cell.get("values", [])) or "-",
    "different replicas": lambda cell: f"{cell['digests'] - 1}" if _ended(cell) else "-",
    "payload, GiB": lambda cell: f"{cell['bytes_payload'] / GIB:.2f}" if _ended(cell) else "-",
}

_SERVERS: dict[str, Callable[[Cell], str]] = {
    "run": lambda cell: run_of(cell).title,
    "outcome": lambda cell: str(cell["outcome"]),
    "settled, MiB": lambda cell: f"{figures.settled(cell):,.0f}",
    "peak, MiB": lambda cell: f"{peak(cell):,.0f}",
    "limit, MiB": lambda cell: f"{cell['memory_limit']:,.0f}",
    "growth": lambda cell: f"{growth(cell):.2f}",
    "answered, %": lambda cell: f"{figures.answered_percent(cell):.0f}",
    "dropped": lambda cell: f"{figures.dropped(cell):,}",
}


def checks(cells: Sequence[Cell]) -> list[Check]:
    """The targets of the runs that were made."""
    found = []
    bounded = [cell for cell in cells if cell["bounded"]]
    for cell in bounded:
        title, grown = run_of(cell).title, growth(cell)
        name = f"{title}: growth of the server's memory, last over second quarter"
        found += [
            Check(
                name=f"{title}: every node ends with the exact counter",
                value=cell["outcome"],
                bar="finished",
                ok=figures.is_exact(cell),
            ),
            at_most(name, grown, MOST_GROWTH, shown=round(grown, 2)),
        ]
    single = next((cell for cell in bounded if cell["servers"] == 1), None)
    for cell in cells:
        if not cell["bounded"] and single:
            times = peak(cell) / peak(single)
            name = f"{run_of(cell).title}: the server's memory over that with bounds"
            found.append(at_least(name, times, COLLAPSE, shown=round(times, 1)))
    return found


def tables(cells: Sequence[Cell]) -> dict[str, Table]:
    """The runs, and their servers."""
    return {
        "Runs": tabulated(_RUNS, cells, _TEXT["runs"]),
        "Servers": tabulated(_SERVERS, cells, _TEXT["servers"]),
    }


def text(meta: Mapping[str, Any], cells: Sequence[Cell]) -> list[str]:
    """Paragraphs for the page of some runs, of which there is at least one."""
    planned = [Run(**run) for run in meta["config"]["runs"]]
    missing = "; ".join(run.title for run in planned[len(cells) :])
    values = {
        "run": planned[0],
        "increment": experiment.INCREMENT_MS / 1000,
        "propagation": experiment.PROPAGATION_MS / 1000,
        "no_bounds": experiment.NO_BOUNDS,
        "quick": "QUICK=1 " if meta["quick"] else "",
        "name": meta["name"],
    }
    return [
        *(_TEXT[part].format(**values) for part in ("nodes", "workload")),
        *(f"{run_of(cell).title}: {figures.ending(cell)}." for cell in cells),
        *([f"Not run, or incomplete: {missing}."] if missing else []),
        *(_TEXT[part].format(**values) for part in ("bounds", "again")),
    ]


def _ended(cell: Cell) -> bool:
    """Whether the run is complete, and all nodes reported their values."""
    return "digests" in cell
