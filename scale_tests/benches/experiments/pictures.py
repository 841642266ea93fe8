"""The pictures of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from scale_tests.benches.experiments import drawing, published
from scale_tests.benches.experiments.drawing import Material
from scale_tests.benches.experiments.series import Series, sizes
from scale_tests.host.units import GIB, MIB
from scale_tests.measure import synchronization
from scale_tests.measure.cells import Component, Member, Result
from scale_tests.measure.pictures import CYCLE, GREY, STYLE, save

CDF_STEPS = 200
"""At most so many steps of a distribution are drawn: a page that holds it stays small."""

_CYCLE = (*CYCLE, GREY)


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One picture: its file, its title, what plots it, and what its reader must know."""

    name: str
    title: str
    plot: Callable[[Figure, Material], None]
    caption: str
    simulated: bool = False
    """Whether what is simulated is drawn, too."""


def draw(
    material: Material, directory: Path, circumstances: Sequence[str]
) -> list[tuple[Picture, Path]]:
    """Draws every picture into `directory`; returns them with their SVG files.

    `circumstances`, two lines with the speedup among them, stands under each title.
    """
    drawn = []
    for picture in PICTURES:
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=(8, 4.8), layout="constrained")
            picture.plot(figure, material)
            blank = "\n" * len(circumstances)
            figure.suptitle(
                f"{picture.title}{blank}", x=0.01, ha="left", fontweight="bold", fontsize=11
            )
            figure.text(0.012, 0.945, "\n".join(circumstances), fontsize=7.5, color=GREY, va="top")
            drawing.legend(figure)
            svg, _png = save(figure, directory, picture.name)
        drawn.append((picture, svg))
    return drawn


def plot_transmission(figure: Figure, material: Material) -> None:
    """Payload in all, beside what is published and simulated, and the least."""
    axes = figure.add_subplot()
    for row in material.rows:
        drawing.line(axes, material, row, lambda cell: cell.bytes_payload / GIB)
        points = [
            (nodes, value)
            for nodes in published.sizes(row.overlay, row.synchronization)
            if material.is_published
            and (value := published.transmission(row.overlay, row.synchronization, nodes))
        ]
        if points:
            axes.plot(
                *zip(*points, strict=True),
                color=drawing.colour(row.synchronization),
                linestyle="none",
                marker="x" if row.overlay == "HyParView" else "+",
                markersize=8,
                label=f"{row.name}, published",
            )
    if material.is_published:
        drawing.simulated(axes, material.simulated, lambda cell: cell.bytes_payload / GIB)
        every = drawing.drawn(axes)
        if len(every) > 1:
            axes.plot(
                every,
                [synchronization.least(int(nodes)) for nodes in every],
                color=GREY,
                linestyle=":",
                label="the final counts once to every node",
            )
    axes.set_yscale("log")
    axes.set_ylabel("payload transmitted in all, GiB")
    drawing.against_nodes(axes)


def plot_bytes(figure: Figure, material: Material) -> None:
    """The three counts of bytes per node."""
    counts: tuple[tuple[str, Callable[[Result], int | None]], ...] = (
        ("CRDT payload", lambda cell: cell.bytes_payload),
        ("channel frames", lambda cell: cell.bytes_frames),
        ("kernel TCP bytes", lambda cell: cell.bytes_tcp),
    )
    panels = figure.subplots(1, 3, sharey=True)
    for axes, (title, of) in zip(panels, counts, strict=True):
        for row in material.rows:
            drawing.line(axes, material, row, _per_node(of))
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_yscale("log")
        drawing.against_nodes(axes)
    panels[0].set_ylabel("sent per node, MiB")


def _per_node(of: Callable[[Result], int | None]) -> Callable[[Result], float | None]:
    """Bytes of a cell as MiB of each of its nodes."""

    def per_node(cell: Result) -> float | None:
        total = of(cell)
        return None if total is None else total / cell.nodes / MIB

    return per_node


def plot_convergence(figure: Figure, material: Material) -> None:
    """The time beyond what counting takes by its interval, in seconds and in intervals."""
    panels = figure.subplots(1, 2)
    units: tuple[tuple[str, Callable[[Result], float | None]], ...] = (
        ("seconds", lambda cell: cell.seconds_to_converge),
        ("propagation intervals", lambda cell: cell.intervals_to_converge),
    )
    for axes, (unit, of) in zip(panels, units, strict=True):
        for row in material.rows:
            drawing.line(axes, material, row, of)
        axes.set_title(unit, loc="left", fontsize=10)
        drawing.from_zero(axes)
        drawing.against_nodes(axes)
    panels[0].set_ylabel("from the end of counting\nuntil every node knew of every other's")


def plot_joining(figure: Figure, material: Material) -> None:
    """Seconds from the apply until all nodes are ready, and one connected component."""
    axes = figure.add_subplot()
    of: tuple[tuple[str, str, Callable[[Result], float | None]], ...] = (
        ("all nodes ready", "--", lambda cell: cell.seconds_to_ready),
        ("one connected component", "-", lambda cell: cell.seconds_to_joined),
    )
    for index, overlay in enumerate(material.overlays):
        whole = Series(
            overlay=overlay,
            synchronization="",
            cells=tuple(cell for cell in material.cells if cell.overlay == overlay),
        )
        for label, style, figure_of in of:
            points = whole.figure(figure_of)
            axes.errorbar(
                [at.nodes for at in points],
                [at.median for at in points],
                yerr=drawing.spread(points),
                color=_CYCLE[index % len(_CYCLE)],
                linestyle=style,
                marker=drawing.style(material, overlay)[1],
                markersize=4,
                capsize=2,
                label=f"{overlay}: {label}",
            )
    axes.set_ylabel("seconds since the apply")
    drawing.from_zero(axes)
    drawing.against_nodes(axes)


def plot_cdf(figure: Figure, material: Material) -> None:
    """The share of nodes that are ready, and that have joined, against time; a line per size."""
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    wanted: tuple[tuple[str, Callable[[Member], float | None]], ...] = (
        ("apply to joined", lambda member: member.seconds_to_joined),
        ("apply to ready", lambda member: member.seconds_to_ready),
    )
    for axes, (title, of) in zip(panels, wanted, strict=True):
        for index, nodes in enumerate(sizes(material.rows)):
            members = [m for cell in material.cells if cell.nodes == nodes for m in cell.members]
            times = sorted(value for m in members if (value := of(m)) is not None)
            if not times:
                continue
            axes.step(
                *zip((0.0, 0.0), *distribution(times), strict=True),
                where="post",
                color=_CYCLE[index % len(_CYCLE)],
                label=f"{nodes:,} nodes",
            )
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_xlabel("seconds since the apply")
    panels[0].set_ylabel("nodes, %")
    panels[0].set_ylim(0, 102)
    panels[0].set_xlim(left=0)


def distribution(times: Sequence[float]) -> list[tuple[float, float]]:
    """Sorted times, each with the percentage of them that are not later.

    Of thousands there are as many as can be told apart in a picture, evenly over the percentages.
    """
    count = len(times)
    steps = min(count, CDF_STEPS)
    ranks = [-(-count * step // steps) for step in range(1, steps + 1)]
    return [(times[rank - 1], 100 * rank / count) for rank in ranks]


def plot_footprint(figure: Figure, material: Material) -> None:
    """Memory and processor time of a node."""
    memory, cpu = figure.subplots(1, 2)
    for row in material.rows:
        drawing.line(memory, material, row, lambda cell: cell.memory_bytes_per_node / MIB)
        drawing.line(cpu, material, row, lambda cell: cell.cpu_seconds_per_node)
    memory.set_title("memory of the median node", loc="left", fontsize=10)
    memory.set_ylabel("MiB")
    cpu.set_title("processor time of the mean node", loc="left", fontsize=10)
    cpu.set_ylabel("seconds since its start")
    for axes in (memory, cpu):
        drawing.from_zero(axes)
        drawing.against_nodes(axes)


def plot_control_plane(figure: Figure, material: Material) -> None:
    """Memory and processor time of the control plane's parts, over all cells of a size."""
    memory, cpu = figure.subplots(1, 2)
    names = sorted({part.name for cell in material.cells for part in cell.control_plane})
    everything = Series(overlay="", synchronization="", cells=tuple(material.cells))
    for index, name in enumerate(names):
        style = {
            "color": _CYCLE[index % len(_CYCLE)],
            "linestyle": "-" if index < len(_CYCLE) else "--",
            "marker": ".",
            "label": name,
        }
        for axes, figure_of in (
            (memory, _part(name, lambda part: part.memory_bytes / MIB)),
            (cpu, _part(name, lambda part: part.cpu_seconds)),
        ):
            points = everything.figure(figure_of)
            axes.plot([at.nodes for at in points], [at.median for at in points], **style)
    memory.set_title("memory", loc="left", fontsize=10)
    memory.set_ylabel("MiB")
    cpu.set_title("processor time in a cell", loc="left", fontsize=10)
    cpu.set_ylabel("seconds")
    for axes in (memory, cpu):
        drawing.from_zero(axes)
        drawing.against_nodes(axes)


def _part(name: str, of: Callable[[Component], float]) -> Callable[[Result], float | None]:
    """A figure of one part of the control plane, where it is known."""
    return lambda cell: next((of(part) for part in cell.control_plane if part.name == name), None)


PICTURES = (
    Picture(
        name="transmission",
        title="Transmission of the ad counter",
        plot=plot_transmission,
        caption="CRDT payload that all nodes sent, as the paper counted it: crosses are the "
        "published values, for which each node counts 180 times.",
        simulated=True,
    ),
    Picture(
        name="bytes",
        title="Bytes sent per node, counted three ways",
        plot=plot_bytes,
        caption="Payload is what the paper counted. Frames are all messages as channels write "
        "them, the overlay's among them. The kernel's count is TCP's payload on the connections "
        "between nodes, with handshakes and what was sent again, without TCP's and IP's headers.",
    ),
    Picture(
        name="convergence",
        title="Convergence",
        plot=plot_convergence,
        caption="From the moment at which counting would end by its interval until the last node "
        "knew that all had counted to the end. Sizes that ran at different speedups compare in "
        "intervals, not in seconds.",
    ),
    Picture(
        name="joining",
        title="Formation of the overlay",
        plot=plot_joining,
        caption="From the apply of the PartisanCluster, over all ways to synchronise.",
    ),
    Picture(
        name="cdf",
        title="Nodes that have joined, and that are ready",
        plot=plot_cdf,
        caption="Joined: by the node's own clock. Ready: as the EndpointSlices say, which are "
        "read twice a second. All cells of a size together.",
    ),
    Picture(
        name="footprint",
        title="What a node takes",
        plot=plot_footprint,
        caption="Memory is the kernel's proportional set size where the cluster runs on this "
        "machine, else what the node says is resident. Processor time since the process's start.",
    ),
    Picture(
        name="control-plane",
        title="What the control plane takes",
        plot=plot_control_plane,
        caption="Medians over the cells of a size. Kubernetes's own processes are known where the "
        "cluster runs on this machine; `containerd-shims` are those of the cell's pods.",
    ),
)
