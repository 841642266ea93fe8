"""From runs to bars, a table and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

import matplotlib as mpl
from matplotlib.figure import Figure
from rich.table import Table

from scale_tests.client_server.experiment import Cell, Run
from scale_tests.results.bars import Bar
from scale_tests.results.pictures import BLUE, GREEN, STYLE, VERMILION, save

MOST_GROWTH = 1.25
"""By how much a bounded server's memory may grow from the second quarter of a run to its last."""

COLLAPSE = 4.0
"""How many times the memory of the bounded server the one without bounds must at least take."""


def run_of(cell: Cell) -> Run:
    """What was run."""
    return Run(**{key: cell[key] for key in Run.__dataclass_fields__})


def peak(cell: Cell) -> float:
    """The most memory of a server, in MiB."""
    return max(float(sample["memory_mib"]) for sample in cell["samples"])


def growth(cell: Cell) -> float:
    """The median memory of the last quarter of a run over that of its second quarter."""
    memory = [float(sample["memory_mib"]) for sample in cell["samples"]]
    quarter = max(1, len(memory) // 4)
    return median(memory[-quarter:]) / median(memory[quarter : 2 * quarter] or memory[:1])


def is_exact(cell: Cell) -> bool:
    """Did all nodes end with the same counter, to the last increment?"""
    return cell["outcome"] == "finished" and (
        (cell["digests"], cell["values"]) == (1, [cell["increments_sum"]])
    )


def bars(cells: Sequence[Cell]) -> list[Bar]:
    """What is asked of the runs that were made."""
    found = []
    for cell in cells:
        run = run_of(cell)
        if not run.bounded:
            continue
        found += [
            Bar(
                name=f"{run.title}: every node ends with the exact counter",
                value=cell["outcome"],
                bar="finished",
                ok=is_exact(cell),
            ),
            Bar(
                name=f"{run.title}: growth of the server's memory, last over second quarter",
                value=round(growth(cell), 2),
                bar=f"<= {MOST_GROWTH:g}",
                ok=growth(cell) <= MOST_GROWTH,
            ),
        ]
    bounded = [cell for cell in cells if cell["bounded"] and cell["servers"] == 1]
    for cell in cells:
        if not cell["bounded"] and bounded:
            times = peak(cell) / peak(bounded[0])
            found.append(
                Bar(
                    name=f"{run_of(cell).title}: the server's memory over that with bounds",
                    value=round(times, 1),
                    bar=f">= {COLLAPSE:g}",
                    ok=times >= COLLAPSE,
                )
            )
    return found


def table(cells: Sequence[Cell]) -> Table:
    """The runs as a table for the terminal."""
    shown = Table(
        title="Client-server, nodes as processes of one machine (no pods)", title_justify="left"
    )
    shown.add_column("run")
    for column in ("speedup", "outcome", "seconds", "peak MiB", "growth", "dropped at the end"):
        shown.add_column(column, justify="right")
    for cell in cells:
        shown.add_row(
            run_of(cell).title,
            f"{cell['speedup']:g}",
            cell["outcome"],
            f"{cell['samples'][-1]['second']:.0f}",
            f"{peak(cell):.0f}",
            f"{growth(cell):.2f}",
            f"{cell.get('dropped', cell['samples'][-1]['dropped']):,}",
        )
    return shown


def draw(cells: Sequence[Cell], directory: Path) -> list[Path]:
    """Draws the servers' memory against time, and returns the files."""
    if not cells:
        return []
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 4.5), layout="constrained")
        axes = figure.subplots()
        for cell in cells:
            run = run_of(cell)
            axes.plot(
                [sample["second"] for sample in cell["samples"]],
                [sample["memory_mib"] for sample in cell["samples"]],
                color=VERMILION if not run.bounded else BLUE if run.servers == 1 else GREEN,
                label=f"{run.title}: {cell['outcome']}",
            )
        axes.set_yscale("log")
        axes.set_xlabel(
            f"seconds of the run, the published intervals {run_of(cells[0]).speedup:g} times faster"
        )
        axes.set_ylabel("memory of the largest server, MiB")
        axes.set_title("A server with bounds and without", loc="left", fontweight="bold")
        axes.legend()
        return save(figure, directory, "client-server")
