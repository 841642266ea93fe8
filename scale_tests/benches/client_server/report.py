"""From the runs to figures, targets, tables and the page."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from scale_tests.benches.client_server import experiment
from scale_tests.benches.client_server.experiment import Run
from scale_tests.host.documents import data_of
from scale_tests.host.units import GIB
from scale_tests.measure import spread
from scale_tests.measure.checks import Check, at_least, at_most
from scale_tests.measure.page import Table
from scale_tests.measure.spread import Cell, read
from scale_tests.measure.tables import forms, tabulated

MOST_GROWTH = 1.25
"""Growth of a bounded server's memory from the second quarter of a run to its last, at most."""

COLLAPSE = 4.0
"""Memory of the server without bounds over that of the bounded one, at least."""

_TEXT = data_of(__file__)


def run_of(cell: Cell) -> Run:
    """The plan of a cell's run."""
    return read(Run, cell)


def lasted(cell: Cell) -> float:
    """Seconds from the start of the run to its end."""
    return float(cell["samples"][-1]["second"])


def peak(cell: Cell) -> float:
    """The most memory of a server, in MiB."""
    return max(_memory(cell))


def is_exact(cell: Cell) -> bool:
    """Whether all nodes ended with the same counter, to the last increment."""
    return cell["outcome"] == "finished" and (
        (cell["digests"], cell["values"]) == (1, [cell["increments_sum"]])
    )


def checks(cells: Sequence[Cell]) -> list[Check]:
    """The targets of the runs that were made."""
    found = []
    bounded = [cell for cell in cells if cell["bounded"]]
    for cell in bounded:
        title, grown = run_of(cell).title, spread.growth(_memory(cell))
        name = f"{title}: growth of the server's memory, last over second quarter"
        found += [
            Check(
                name=f"{title}: every node ends with the exact counter",
                value=cell["outcome"],
                bar="finished",
                ok=is_exact(cell),
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
    rows, columns = [_row(cell) for cell in cells], _TEXT["columns"]
    return {
        "Runs": tabulated(forms(columns["runs"], missing="-"), rows, _TEXT["runs"]),
        "Servers": tabulated(forms(columns["servers"]), rows, _TEXT["servers"]),
    }


def _row(cell: Cell) -> Cell:
    """A run by the names of its figures in the formats of the columns."""
    memory, samples = _memory(cell), cell["samples"]
    answered = [sample["servers_answering"] == cell["servers"] for sample in samples]
    row = {
        # Of the servers while they answered, where the run was ended early; else of all nodes.
        "dropped": max(sample["dropped"] for sample in samples),
        **cell,
        "title": run_of(cell).title,
        "compression": cell["speedup"],
        "lasted": lasted(cell),
        "settled": median(memory[-max(1, len(memory) // 4) :]),
        "peak": peak(cell),
        "growth": spread.growth(memory),
        "answered": 100 * sum(answered) / len(samples),
    }
    # Of a run that is complete, all of whose nodes reported their values.
    if "digests" in cell:
        row["value"] = ", ".join(f"{value:,}" for value in cell["values"]) or None
        row["different"] = cell["digests"] - 1
        row["payload"] = cell["bytes_payload"] / GIB
    return row


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
        *(f"{run_of(cell).title}: {ending(cell)}." for cell in cells),
        *([f"Not run, or incomplete: {missing}."] if missing else []),
        *(_TEXT[part].format(**values) for part in ("bounds", "again")),
    ]


def ending(cell: Cell) -> str:
    """The ending of a run, as a sentence without a full stop."""
    ended = "exact" if is_exact(cell) else cell["outcome"]
    return str(_TEXT["endings"][ended].format(**_row(cell), silence=_silence(cell)))


def _silence(cell: Cell) -> str:
    answered = [sample["second"] for sample in cell["samples"] if sample["servers_answering"]]
    if not answered:
        return "it had answered no question"
    if answered[-1] == lasted(cell):
        return "it answered questions to the end"
    return f"the last question that it answered was at {answered[-1]:,.0f} s"


def _memory(cell: Cell) -> list[float]:
    return [float(sample["memory_mib"]) for sample in cell["samples"]]
