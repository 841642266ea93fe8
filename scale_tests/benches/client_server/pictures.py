"""The pictures of the runs: the servers' memory, and the count, against time."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from scale_tests.benches.client_server.experiment import Run
from scale_tests.benches.client_server.report import lasted, peak, run_of
from scale_tests.measure import drawing, page
from scale_tests.measure.drawing import (
    BLUE,
    GREEN,
    GREY,
    VERMILION,
    described,
    legend_below,
    panels,
)
from scale_tests.measure.spread import Cell

_PASSED = 1.2
"""The end of the zoomed picture, as a multiple of the duration of the run without bounds."""

_SHORT = 0.5
"""The share of the longest run up to which its beginning is shown enlarged."""


def draw(cells: Sequence[Cell], directory: Path) -> list[page.Picture]:
    """Draws the runs, of which there is at least one, into `directory`."""
    closer = " On the right the same until a while after that." if _collapse(cells) else ""
    speed = f"Time compression {cells[0]['speedup']:g}. Nodes are processes of one machine."
    pictures = [
        replace(picture, caption=picture.caption.format(closer=closer, speed=speed))
        for picture in described(__file__, _plot_memory, _plot_count)
    ]
    return drawing.draw(pictures, cells, directory)


def colour(run: Run) -> str:
    """The colour of a run."""
    if not run.bounded:
        return VERMILION
    return BLUE if run.servers == 1 else GREEN


def _plot_memory(figure: Figure, cells: Sequence[Cell]) -> None:
    collapse = _collapse(cells)
    whole, *closer = panels(figure, 1 if collapse is None else 2, share_y=True)
    for axes in (whole, *closer):
        _plot_servers(axes, cells)
        axes.set_xlabel("seconds of the run")
    for axes in closer:
        whole.set_title("the whole runs", loc="left", fontsize=10)
        axes.set_title("until the end without bounds", loc="left", fontsize=10)
        axes.set_xlim(0, _PASSED * (collapse or 0))
    whole.set_ylabel("memory of the largest server, MiB")
    legend_below(figure, columns=2)


def _collapse(cells: Sequence[Cell]) -> float | None:
    """When a run without bounds had ended, if that was long before the others."""
    ended = [lasted(cell) for cell in cells if not cell["bounded"]]
    longest = max(lasted(cell) for cell in cells)
    return max(ended) if ended and max(ended) < _SHORT * longest else None


def _plot_servers(axes: Axes, cells: Sequence[Cell]) -> None:
    limit = max(float(cell["memory_limit"]) for cell in cells)
    for cell in cells:
        _line(axes, cell, "memory_mib")
        if cell["outcome"] != "finished":
            end = colour(run_of(cell))
            axes.plot(lasted(cell), peak(cell), color=end, marker="X", markersize=9)
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
        # Runs that keep up lie upon one another.
        style = "-" if run.servers == 1 else "--"
        _line(axes, cell, "value", 100 / (run.nodes * run.increments), style)
    axes.set_xlabel("seconds of the run")
    axes.set_ylabel("counted, % of the threshold")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.legend(loc="lower right")


def _line(axes: Axes, cell: Cell, key: str, times: float = 1, style: str = "-") -> None:
    run = run_of(cell)
    axes.plot(
        [sample["second"] for sample in cell["samples"]],
        [times * sample[key] for sample in cell["samples"]],
        color=colour(run),
        linewidth=2,
        linestyle=style,
        label=f"{run.title}: {cell['outcome']}",
    )
