"""The pictures of a run."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from scale_tests.benches.experiments import comparison, drawing
from scale_tests.benches.experiments.drawing import Material, against_nodes, by_size
from scale_tests.host.documents import data_of
from scale_tests.host.units import MIB
from scale_tests.measure import synchronization
from scale_tests.measure.cells import Member
from scale_tests.measure.drawing import CYCLE, GREY, Picture, curve, legend_below, panels, spreads

CDF_STEPS = 200
"""Steps of a distribution, at most: a page that holds it stays small."""

WITH_SIMULATED = "transmission"
"""The picture that shows simulated cells, too."""

_CYCLE = (*CYCLE, GREY)
_DATA = data_of(__file__)


def _panels(name: str, figure: Figure, material: Material) -> None:
    """A panel for each of some figures."""
    shared, shown = _DATA[name].get("shared"), _DATA[name]["panels"]
    own = panels(figure, len(shown), share_y=bool(shared))
    for axes, (of, labels) in zip(own, shown.items(), strict=True):
        drawing.rows(axes, material, of)
        against_nodes(axes, **labels)
    if shared:
        own[0].set_ylabel(shared)


def _transmission(figure: Figure, material: Material) -> None:
    axes = figure.add_subplot()
    drawing.rows(axes, material, "payload")
    if material.is_published:
        for overlay, mode in material.rows:
            if points := comparison.published(overlay, mode):
                marker = "x" if overlay == "HyParView" else "+"
                style: Any = {"linestyle": "none", "marker": marker, "markersize": 8}
                style |= {"color": drawing.colour(mode), "label": f"{overlay}, {mode}, published"}
                curve(axes, points.items(), **style)
        drawing.simulated(axes, material.simulated)
        every = drawing.drawn(axes)
        if len(every) > 1:
            least = [synchronization.least(int(nodes)) for nodes in every]
            label = "the final counts once to every node"
            axes.plot(every, least, color=GREY, linestyle=":", label=label)
    against_nodes(axes, label="payload transmitted in all, GiB", log=True)


def _joining(figure: Figure, material: Material) -> None:
    axes = figure.add_subplot()
    for index, overlay in enumerate(material.overlays):
        cells = [cell for cell in material.cells if cell.overlay == overlay]
        ready = by_size((cell.nodes, cell.seconds_to_ready) for cell in cells)
        joined = by_size((cell.nodes, cell.seconds_to_joined) for cell in cells)
        style: Any = {"color": _CYCLE[index % len(_CYCLE)], "markersize": 4, "capsize": 2}
        style |= {"marker": material.style(overlay)["marker"]}
        label = f"{overlay}: all nodes ready"
        spreads(axes, ready.items(), label=label, linestyle="--", **style)
        label = f"{overlay}: one connected component"
        spreads(axes, joined.items(), label=label, linestyle="-", **style)
    against_nodes(axes, label="seconds since the apply")


def _cdf(figure: Figure, material: Material) -> None:
    """The share of nodes that are ready, and that have joined, against time; a line per size."""
    wanted: dict[str, Callable[[Member], float | None]] = {
        "apply to joined": lambda member: member.seconds_to_joined,
        "apply to ready": lambda member: member.seconds_to_ready,
    }
    both = figure.subplots(1, 2, sharex=True, sharey=True)
    for axes, (title, of) in zip(both, wanted.items(), strict=True):
        for index, nodes in enumerate(sorted({cell.nodes for cell in material.cells})):
            members = [m for cell in material.cells if cell.nodes == nodes for m in cell.members]
            times = sorted(value for m in members if (value := of(m)) is not None)
            if times:
                points = zip((0.0, 0.0), *distribution(times), strict=True)
                colour = _CYCLE[index % len(_CYCLE)]
                axes.step(*points, where="post", color=colour, label=f"{nodes:,} nodes")
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_xlabel("seconds since the apply")
    both[0].set(ylabel="nodes, %", ylim=(0, 102))
    both[0].set_xlim(left=0)


def distribution(times: Sequence[float]) -> list[tuple[float, float]]:
    """Sorted times, each with the percentage of them that are not later.

    Thousands of values are reduced to the steps that a picture can show, evenly over the
    percentages.
    """
    count = len(times)
    steps = min(count, CDF_STEPS)
    ranks = [-(-count * step // steps) for step in range(1, steps + 1)]
    return [(times[rank - 1], 100 * rank / count) for rank in ranks]


def _control_plane(figure: Figure, material: Material) -> None:
    memory, cpu = panels(figure, 2)
    parts = [(cell.nodes, part) for cell in material.cells for part in cell.control_plane]
    for index, name in enumerate(sorted({part.name for _, part in parts})):
        linestyle = "-" if index < len(_CYCLE) else "--"
        style: Any = {"color": _CYCLE[index % len(_CYCLE)], "linestyle": linestyle, "marker": "."}
        own = [(nodes, part) for nodes, part in parts if part.name == name]
        for axes, found in (
            (memory, by_size((nodes, part.memory_bytes / MIB) for nodes, part in own)),
            (cpu, by_size((nodes, part.cpu_seconds) for nodes, part in own)),
        ):
            medians = ((nodes, at.median) for nodes, at in found.items())
            curve(axes, medians, label=name, **style)
    against_nodes(memory, title="memory", label="MiB")
    against_nodes(cpu, title="processor time in a cell", label="seconds")


_OWN: Mapping[str, Callable[[Figure, Material], None]] = {
    WITH_SIMULATED: _transmission,
    "joining": _joining,
    "cdf": _cdf,
    "control-plane": _control_plane,
}


def _plot(name: str, figure: Figure, material: Material) -> None:
    _OWN.get(name, partial(_panels, name))(figure, material)
    legend_below(figure)


PICTURES: Sequence[Picture[Material]] = [
    Picture(
        name=name,
        title=text["title"],
        caption=text["caption"],
        plot=partial(_plot, name),
        size=(8, 4.8),
    )
    for name, text in _DATA.items()
]
"""All pictures, in the order of a page."""
