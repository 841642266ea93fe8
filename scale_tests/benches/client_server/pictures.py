"""The pictures of the runs: the servers' memory, and the count, against time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from scale_tests.benches.client_server.experiment import Cell, Run
from scale_tests.benches.client_server.figures import lasted, peak, run_of
from scale_tests.measure.page import Picture
from scale_tests.measure.pictures import BLUE, GREEN, GREY, STYLE, VERMILION, save

_PASSED = 1.2
"""How far beyond the end of the run without bounds the closer look goes, as a factor."""

_SHORT = 0.5
"""Of what share of the longest run a closer look at the beginning shows more."""


def draw(cells: Sequence[Cell], directory: Path) -> list[Picture]:
    """Draws the runs, of which there is at least one, into `directory`."""
    closer = " On the right the same until a while after that." if _collapse(cells) else ""
    speed = f"Speedup {cells[0]['speedup']:g}. Nodes are processes of one machine."
    pictures = (
        (
            "client-server",
            "Memory of a server, with bounds and without",
            _plot_memory,
            "Proportional set size of the largest server, from the start of the count, on a "
            "logarithmic axis. Dashed: the limit at which a server is taken to have collapsed, and "
            f"the run is ended (a cross).{closer}",
        ),
        (
            "client-server-count",
            "What the nodes had counted meanwhile",
            _plot_count,
            "The most that any server or one of eight clients that were asked, and answered, held "
            "of the counter; the run is over where it meets the threshold and all replicas are "
            "equal. Where a server is too busy to answer, what is left is what clients have "
            "counted themselves or heard before.",
        ),
    )
    drawn = []
    for name, title, plot, caption in pictures:
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=(9, 4.5), layout="constrained")
            plot(figure, cells)
            figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=12)
            svg, _png = save(figure, directory, name)
        drawn.append(Picture(title=title, file=svg, caption=f"{caption} {speed}"))
    return drawn


def colour(run: Run) -> str:
    """The colour of a run."""
    if not run.bounded:
        return VERMILION
    return BLUE if run.servers == 1 else GREEN


def _plot_memory(figure: Figure, cells: Sequence[Cell]) -> None:
    collapse = _collapse(cells)
    panels = figure.subplots(1, 1 if collapse is None else 2, sharey=True, squeeze=False)[0]
    for axes in panels:
        _plot_servers(axes, cells)
        axes.set_xlabel("seconds of the run")
    whole = panels[0]
    if collapse is not None:
        whole.set_title("the whole runs", loc="left", fontsize=10)
        panels[1].set_title("until the end without bounds", loc="left", fontsize=10)
        panels[1].set_xlim(0, _PASSED * collapse)
    whole.set_ylabel("memory of the largest server, MiB")
    handles, labels = whole.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2)


def _collapse(cells: Sequence[Cell]) -> float | None:
    """When a run without bounds had ended, if that was long before the others."""
    ended = [lasted(cell) for cell in cells if not cell["bounded"]]
    longest = max(lasted(cell) for cell in cells)
    return max(ended) if ended and max(ended) < _SHORT * longest else None


def _plot_servers(axes: Axes, cells: Sequence[Cell]) -> None:
    limit = max(float(cell["memory_limit"]) for cell in cells)
    for cell in cells:
        run = run_of(cell)
        axes.plot(
            [sample["second"] for sample in cell["samples"]],
            [sample["memory_mib"] for sample in cell["samples"]],
            color=colour(run),
            linewidth=2,
            label=f"{run.title}: {cell['outcome']}",
        )
        if cell["outcome"] != "finished":
            axes.plot(lasted(cell), peak(cell), color=colour(run), marker="X", markersize=9)
    axes.axhline(limit, color=GREY, linestyle="--", label=f"limit: {limit:,.0f} MiB")
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_locator(LogLocator(base=2, numticks=16))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda mib, _: f"{mib:,.0f}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    # The limit is not to lie on the frame, nor is a server that has just passed it.
    axes.set_ylim(top=2 * max(limit, *(peak(cell) for cell in cells)))
    axes.set_xlim(left=0)


def _plot_count(figure: Figure, cells: Sequence[Cell]) -> None:
    axes = figure.subplots()
    for cell in cells:
        run = run_of(cell)
        threshold = run.nodes * run.increments
        axes.plot(
            [sample["second"] for sample in cell["samples"]],
            [100 * sample["value"] / threshold for sample in cell["samples"]],
            color=colour(run),
            linewidth=2,
            # Runs that keep up lie upon one another.
            linestyle="-" if run.servers == 1 else "--",
            label=f"{run.title}: {cell['outcome']}",
        )
    axes.set_xlabel("seconds of the run")
    axes.set_ylabel("counted, % of the threshold")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower right")
