"""From cells to checks, a table and a picture."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from scale_tests.measure.checks import Check
from scale_tests.measure.drawing import Picture, legend_below, panels
from scale_tests.measure.page import Table
from scale_tests.measure.spread import Cell

GREYS = ("black", "silver")
"""The colours of Distributed Erlang, stock and tuned."""

PLACE = 0.03
"""Between two systems of one size in the picture, where sizes are 1 apart."""

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
    """Processor time and memory of a node against nodes; a cross is a size that was lost."""
    titles = {
        "cpu_s_per_node": "processor time of a node, s",
        "memory_mb_per_node": "memory of a node, MB",
    }
    sizes = sorted({int(cell["nodes"]) for cell in cells})
    labels = _labels(cells)
    theirs = [label for label in labels if not _is_ours(label)]
    for axes, (key, title) in zip(panels(figure, 2), titles.items(), strict=True):
        for index, label in enumerate(labels):
            # A cluster that an emulator's own end has ended has no figures.
            of = [cell for cell in _of(cells, label) if cell[key] is not None]
            # Points of one size would lie upon one another: each system has its own place.
            at = PLACE * (index - len(labels) / 2)
            points = [(sizes.index(int(cell["nodes"])) + at, cell[key]) for cell in of]
            (line,) = axes.plot(
                [x for x, _ in points],
                [y for _, y in points],
                marker="o" if _is_ours(label) else "s",
                linestyle="-" if _is_ours(label) else "--",
                color=f"C{index - len(theirs)}" if _is_ours(label) else GREYS[index],
                label=label,
            )
            lost = [point for point, cell in zip(points, of, strict=True) if not cell["held"]]
            axes.plot(
                [x for x, _ in lost],
                [y for _, y in lost],
                "x",
                color=line.get_color(),
                markersize=14,
            )
        axes.set(xlabel="nodes", ylabel=title, ylim=(0, None))
        axes.set_xticks(range(len(sizes)), [f"{size:,}" for size in sizes])
    legend_below(figure, columns=4)
    return bool(cells)


PICTURE = Picture(
    name="mesh",
    title="Clusters on one machine: held (point), not formed or not held (cross)",
    plot=_plot,
    size=(10, 5.5),
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
