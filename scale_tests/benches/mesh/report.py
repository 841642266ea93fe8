"""From cells to checks, a table and a picture."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from scale_tests.measure.checks import Check
from scale_tests.measure.drawing import Picture, panels
from scale_tests.measure.page import Table
from scale_tests.measure.spread import Cell

TIMES = 10
"""The claim: an order of magnitude more nodes."""


def checks(cells: Sequence[Cell]) -> list[Check]:
    """The claim, as far as a limit of both systems was found."""
    ours = max((held(cells, label) for label in _labels(cells) if _is_ours(label)), default=0)
    return [_check(ours, cells, label) for label in _labels(cells) if ours and not _is_ours(label)]


def _check(ours: int, cells: Sequence[Cell], label: str) -> Check:
    theirs = held(cells, label)
    lost = min((cell["nodes"] for cell in _of(cells, label) if not cell["held"]), default=None)
    return Check(
        name=f"nodes of the largest cluster, over those of {label}",
        value=f"{ours} over {theirs} or more" + (f", less than {lost}" if lost else ""),
        bar=f">= {TIMES} times",
        # Their limit is below the smallest size that they lost: the multiple is at least ours over
        # that. Where it is less than the claim, the sizes or the memory may have ended first.
        ok=True if lost and ours >= TIMES * lost else None,
    )


def tables(cells: Sequence[Cell]) -> dict[str, Table]:
    """Every cell."""
    head = ("system", "nodes", "formed after, s", "held, s", "processor, s/node", "memory, MB/node")
    rows = [
        (
            _label(cell),
            str(cell["nodes"]),
            cell["ended_by"] if cell["formed_s"] is None else f"{cell['formed_s']:.1f}",
            f"{cell['held_s']:.0f}" + ("" if cell["held"] else f" ({cell['ended_by']})"),
            _figure(cell["cpu_s_per_node"], 2),
            _figure(cell["memory_mb_per_node"], 1),
        )
        for cell in cells
    ]
    return {"How large a cluster gets, all nodes on one machine": Table(head=head, rows=rows)}


def held(cells: Sequence[Cell], label: str) -> int:
    """The size of the largest cluster of a system that was held; 0 if none."""
    return max((cell["nodes"] for cell in _of(cells, label) if cell["held"]), default=0)


def _plot(figure: Figure, cells: Sequence[Cell]) -> bool:
    """Processor time and memory of a node against nodes."""
    titles = {
        "cpu_s_per_node": "processor time of a node, s",
        "memory_mb_per_node": "memory of a node, MB",
    }
    for axes, (key, title) in zip(panels(figure, 2), titles.items(), strict=True):
        for label in _labels(cells):
            points = [cell for cell in _of(cells, label) if cell["held"]]
            style = "o-" if _is_ours(label) else "s--"
            axes.loglog([c["nodes"] for c in points], [c[key] for c in points], style, label=label)
        axes.set(xlabel="nodes", ylabel=title)
    figure.axes[0].legend(fontsize=8)
    return bool(cells)


PICTURE = Picture(
    name="mesh", title="Clusters that formed and held, by size", plot=_plot, size=(10, 4.5)
)


def _label(cell: Cell) -> str:
    return f"{cell['system']} {cell['overlay']}"


def _labels(cells: Sequence[Cell]) -> list[str]:
    return list(dict.fromkeys(_label(cell) for cell in cells))


def _of(cells: Sequence[Cell], label: str) -> list[Cell]:
    return sorted((c for c in cells if _label(c) == label), key=lambda cell: int(cell["nodes"]))


def _is_ours(label: str) -> bool:
    return label.startswith("ours")


def _figure(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
