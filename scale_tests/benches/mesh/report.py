"""From cells to checks, a table and a picture."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from scale_tests.host.documents import data_of
from scale_tests.measure.checks import Check
from scale_tests.measure.drawing import Picture, curve, legend_below, panels
from scale_tests.measure.page import Table
from scale_tests.measure.spread import Cell
from scale_tests.measure.tables import forms, tabulated

_DATA = data_of(__file__)

GREYS = ("black", "silver")
"""The colours of Distributed Erlang, stock and tuned."""

PLACE = 0.03
"""Between two systems of one size in the picture, where sizes are 1 apart."""

TIMES = 10
"""The claim: an order of magnitude more nodes."""


def checks(cells: Sequence[Cell]) -> list[Check]:
    """The claim, as far as a limit of both systems was found."""
    systems = _systems(cells)
    ours = max((held(own) for label, own in systems.items() if _is_ours(label)), default=0)
    return [
        _check(ours, label, own) for label, own in systems.items() if ours and not _is_ours(label)
    ]


def _check(ours: int, label: str, cells: Sequence[Cell]) -> Check:
    lost = min((cell["nodes"] for cell in cells if not cell["held"]), default=None)
    return Check(
        name=f"nodes of the largest cluster, over those of {label}",
        value=f"{ours} over {held(cells)} or more" + (f", less than {lost}" if lost else ""),
        bar=f">= {TIMES} times",
        # Their limit is below the smallest size that they lost: the multiple is at least ours over
        # that. Where it is less than the claim, the sizes or the memory may have ended first.
        ok=True if lost and ours >= TIMES * lost else None,
    )


def tables(cells: Sequence[Cell]) -> dict[str, Table]:
    """Every cell."""
    rows = [
        {
            **cell,
            "formed": cell["ended_by"] if cell["formed_s"] is None else f"{cell['formed_s']:.1f}",
            "lost": "" if cell["held"] else f" ({cell['ended_by']})",
        }
        for cell in cells
    ]
    table = tabulated(forms(_DATA["columns"], missing=""), rows)
    return {"How large a cluster gets, all nodes on one machine": table}


def held(cells: Sequence[Cell]) -> int:
    """The size of the largest cluster of a system that was held; 0 if none."""
    return max((cell["nodes"] for cell in cells if cell["held"]), default=0)


def _plot(figure: Figure, cells: Sequence[Cell]) -> bool:
    """Processor time and memory of a node against nodes; a cross is a size that was lost."""
    sizes = sorted({int(cell["nodes"]) for cell in cells})
    systems = _systems(cells)
    theirs = sum(not _is_ours(label) for label in systems)
    for axes, (key, title) in zip(panels(figure, 2), _DATA["panels"].items(), strict=True):
        for index, (label, own) in enumerate(systems.items()):
            ours = _is_ours(label)
            colour = f"C{index - theirs}" if ours else GREYS[index]
            # Points of one size would lie upon one another: each system has its own place.
            at = PLACE * (index - len(systems) / 2)
            # A cluster that an emulator's own end has ended has no figures.
            points = [
                (sizes.index(int(cell["nodes"])) + at, float(cell[key]), bool(cell["held"]))
                for cell in own
                if cell[key] is not None
            ]
            curve(
                axes,
                [(x, y) for x, y, _ in points],
                "o-" if ours else "s--",
                color=colour,
                label=label,
            )
            lost = [(x, y) for x, y, whole in points if not whole]
            curve(axes, lost, "x", color=colour, markersize=14)
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


def _systems(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """The cells by system, whose label is the name; those of a system by size."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(f"{cell['system']} {cell['overlay']}", []).append(cell)
    return {label: sorted(own, key=lambda cell: int(cell["nodes"])) for label, own in found.items()}


def _is_ours(label: str) -> bool:
    return label.startswith("ours")
