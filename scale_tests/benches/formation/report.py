"""From cells to checks, a table and a picture."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from scale_tests.measure.checks import Check, at_most, every
from scale_tests.measure.drawing import BLUE, GREY, VERMILION, Picture
from scale_tests.measure.page import Table
from scale_tests.measure.spread import Cell, Spread, having

LANES_SECONDS = 1.0
FROZEN_SECONDS = 15.0

UPSTREAM_MESH = {4: 0.14, 8: 0.65, 12: 4.6, 16: 38.0}
"""Processor seconds in which upstream Partisan 5.0.3 forms a full mesh, by nodes; with 24 it did
not converge. OTP 25, one virtual machine per node, another machine of two cores."""


def checks(cells: Sequence[Cell]) -> list[Check]:
    """The targets of the measured figures."""
    found = []
    if runs := having(cells, experiment="formation"):
        name = f"{runs[0]['nodes']} nodes at once: one component, all links symmetric"
        found.append(every(name, [cell["whole"] for cell in runs], "runs"))
    if meshes := having(cells, experiment="mesh"):
        first, last = meshes[0], meshes[-1]
        growth = _per_link(last) / _per_link(first)
        name = f"processor time a link, mesh of {last['nodes']} over {first['nodes']}"
        whole = all(cell["whole"] for cell in meshes)
        found.append(at_most(name, growth, 1, shown=f"{growth:.2f}", met=whole))
    frozen = having(cells, experiment="failure", failure="frozen")
    for slow, name, limit in (
        (having(cells, experiment="lanes"), "until {parallelism} lanes are up", LANES_SECONDS),
        (frozen, "until a frozen node is noticed by all", FROZEN_SECONDS),
    ):
        if slow:
            slowest = max(cell["seconds"] for cell in slow)
            name = f"seconds {name}, slowest run".format(**slow[0])
            found.append(at_most(name, slowest, limit, shown=f"{slowest:.2f}"))
    return found


def tables(cells: Sequence[Cell]) -> dict[str, Table]:
    """Medians with their spread."""
    rows = []
    if runs := having(cells, experiment="formation"):
        per_node = str(Spread.of(c["cpu_seconds"] / c["nodes"] for c in runs))
        rows += [
            (f"{runs[0]['nodes']} nodes at once to one component, s", _seconds(runs)),
            ("processor time of a node until then, s", per_node),
        ]
    rows += [
        (
            f"full mesh of {cell['nodes']}: {cell['links']} links",
            f"{cell['seconds']:.1f} s, {cell['cpu_seconds']:.1f} s of processor time, "
            f"{1000 * _per_link(cell):.0f} ms a link",
        )
        for cell in having(cells, experiment="mesh")
    ]
    if openings := having(cells, experiment="lanes"):
        rows.append((f"{openings[0]['parallelism']} lanes up, s", _seconds(openings)))
    for kind in ("killed", "frozen"):
        if of_kind := having(cells, experiment="failure", failure=kind):
            rows.append((f"a {kind} node noticed by all, s", _seconds(of_kind)))
    return {"Formation and failure, one virtual machine per node": Table(head=("", ""), rows=rows)}


def _plot(figure: Figure, cells: Sequence[Cell]) -> bool:
    """Processor time against nodes of a full mesh."""
    meshes = having(cells, experiment="mesh")
    if not meshes:
        return False
    axes = figure.subplots()
    sizes = [cell["nodes"] for cell in meshes]
    seconds = [cell["cpu_seconds"] for cell in meshes]
    axes.loglog(sizes, seconds, "o-", color=BLUE, label="this runtime")
    upstream = zip(*UPSTREAM_MESH.items(), strict=True)
    label = "Partisan 5.0.3 (did not form 24)"
    axes.loglog(*upstream, "s--", color=VERMILION, markerfacecolor="none", label=label)
    slope = [seconds[0] * cell["links"] / meshes[0]["links"] for cell in meshes]
    axes.loglog(sizes, slope, ":", color=GREY, label="as the number of links")
    axes.set_xticks(sizes, [str(size) for size in sizes], minor=False)
    axes.set_xticks([], minor=True)
    axes.set(xlabel="nodes in a full mesh, all started at once")
    axes.set(ylabel="processor time until formed, s")
    axes.legend()
    return True


PICTURE = Picture(name="mesh", title="Processor time to form a full mesh", plot=_plot)


def _per_link(cell: Cell) -> float:
    return float(cell["cpu_seconds"]) / max(1, int(cell["links"]))


def _seconds(cells: Sequence[Cell]) -> str:
    return str(Spread.of(cell["seconds"] for cell in cells))
