"""The pictures of a run."""

from collections.abc import Callable, Sequence
from typing import Any

from matplotlib.figure import Figure

from scale_tests.benches.experiments import drawing, published
from scale_tests.benches.experiments.drawing import Material, Of, against_nodes, by_size
from scale_tests.host.documents import data_of
from scale_tests.host.units import GIB, MIB
from scale_tests.measure import synchronization
from scale_tests.measure.cells import Component, Member
from scale_tests.measure.drawing import CYCLE, GREY, Picture, legend_below, panels

CDF_STEPS = 200
"""Steps of a distribution, at most: a page that holds it stays small."""

PICTURES: list[Picture[Material]] = []
"""All pictures, in the order of a page."""

WITH_SIMULATED = "transmission"
"""The picture that shows simulated cells, too."""

_CYCLE = (*CYCLE, GREY)
_TEXT = data_of(__file__)

Plot = Callable[[Figure, Material], None]


def _picture(name: str) -> Callable[[Plot], Plot]:
    """Adds a function to the pictures; their titles and captions are data."""

    def add(plot: Plot) -> Plot:
        def drawn(figure: Figure, material: Material) -> None:
            plot(figure, material)
            legend_below(figure)

        picture = Picture(name=name, plot=drawn, size=(8, 4.8), **_TEXT[name])
        PICTURES.append(picture)
        return plot

    return add


@_picture(WITH_SIMULATED)
def _transmission(figure: Figure, material: Material) -> None:
    axes = figure.add_subplot()
    drawing.rows(axes, material, lambda cell: cell.bytes_payload / GIB)
    if material.is_published:
        for overlay, mode in material.rows:
            points = published.transmission(overlay, mode)
            if points:
                axes.plot(
                    *zip(*points.items(), strict=True),
                    color=drawing.colour(mode),
                    linestyle="none",
                    marker="x" if overlay == "HyParView" else "+",
                    markersize=8,
                    label=f"{overlay}, {mode}, published",
                )
        drawing.simulated(axes, material.simulated, lambda cell: cell.bytes_payload / GIB)
        every = drawing.drawn(axes)
        if len(every) > 1:
            least = [synchronization.least(int(nodes)) for nodes in every]
            label = "the final counts once to every node"
            axes.plot(every, least, color=GREY, linestyle=":", label=label)
    against_nodes(axes, label="payload transmitted in all, GiB", log=True)


@_picture("bytes")
def _bytes(figure: Figure, material: Material) -> None:
    counts: dict[str, Of] = {
        "CRDT payload": lambda cell: cell.bytes_payload / cell.nodes / MIB,
        "channel frames": lambda cell: cell.bytes_frames / cell.nodes / MIB,
        "kernel TCP bytes": lambda cell: (
            None if cell.bytes_tcp is None else cell.bytes_tcp / cell.nodes / MIB
        ),
    }
    axes = panels(figure, 3, share_y=True)
    for each, (title, of) in zip(axes, counts.items(), strict=True):
        drawing.rows(each, material, of)
        against_nodes(each, title=title, log=True)
    axes[0].set_ylabel("sent per node, MiB")


@_picture("convergence")
def _convergence(figure: Figure, material: Material) -> None:
    left, right = panels(figure, 2)
    drawing.rows(left, material, lambda cell: cell.seconds_to_converge)
    drawing.rows(right, material, lambda cell: cell.intervals_to_converge)
    label = "from the end of counting\nuntil every node knew of every other's"
    against_nodes(left, title="seconds", label=label)
    against_nodes(right, title="propagation intervals")


@_picture("joining")
def _joining(figure: Figure, material: Material) -> None:
    axes = figure.add_subplot()
    of: tuple[tuple[str, str, Of], ...] = (
        ("all nodes ready", "--", lambda cell: cell.seconds_to_ready),
        ("one connected component", "-", lambda cell: cell.seconds_to_joined),
    )
    for index, overlay in enumerate(material.overlays):
        cells = [cell for cell in material.cells if cell.overlay == overlay]
        style = {"color": _CYCLE[index % len(_CYCLE)], "markersize": 4}
        style |= {"marker": material.style(overlay)["marker"]}
        for label, linestyle, figure_of in of:
            points = by_size(cells, figure_of)
            drawing.line(axes, points, label=f"{overlay}: {label}", linestyle=linestyle, **style)
    against_nodes(axes, label="seconds since the apply")


@_picture("cdf")
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


@_picture("footprint")
def _footprint(figure: Figure, material: Material) -> None:
    memory, cpu = panels(figure, 2)
    drawing.rows(memory, material, lambda cell: cell.memory_bytes_per_node / MIB)
    drawing.rows(cpu, material, lambda cell: cell.cpu_seconds_per_node)
    against_nodes(memory, title="memory of the median node", label="MiB")
    against_nodes(cpu, title="processor time of the mean node", label="seconds since its start")


@_picture("control-plane")
def _control_plane(figure: Figure, material: Material) -> None:
    memory, cpu = panels(figure, 2)
    for index, name in enumerate(
        sorted({part.name for cell in material.cells for part in cell.control_plane})
    ):
        linestyle = "-" if index < len(_CYCLE) else "--"
        style: Any = {"color": _CYCLE[index % len(_CYCLE)], "linestyle": linestyle, "marker": "."}
        for axes, of in (
            (memory, _part(name, lambda part: part.memory_bytes / MIB)),
            (cpu, _part(name, lambda part: part.cpu_seconds)),
        ):
            found = by_size(material.cells, of)
            axes.plot([*found], [at.median for at in found.values()], label=name, **style)
    against_nodes(memory, title="memory", label="MiB")
    against_nodes(cpu, title="processor time in a cell", label="seconds")


def _part(name: str, of: Callable[[Component], float]) -> Of:
    """A figure of one part of the control plane, where it is known."""
    return lambda cell: next((of(part) for part in cell.control_plane if part.name == name), None)
