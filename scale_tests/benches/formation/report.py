"""From cells to bars, a table and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from rich.table import Table

from scale_tests.benches.formation.experiments import Cell
from scale_tests.measure.bars import Bar
from scale_tests.measure.pictures import BLUE, GREY, STYLE, VERMILION, save
from scale_tests.measure.tables import spread

LANES_SECONDS = 1.0
FROZEN_SECONDS = 15.0

UPSTREAM_MESH = {4: 0.14, 8: 0.65, 12: 4.6, 16: 38.0}
"""Processor seconds in which upstream Partisan 5.0.3 forms a full mesh, by nodes; with 24 it did
not converge. OTP 25, one virtual machine per node, another machine of two cores."""


def bars(cells: Sequence[Cell]) -> list[Bar]:
    """What is asked of the figures that were measured."""
    found = []
    if runs := _of(cells, "formation"):
        whole = sum(cell["whole"] for cell in runs)
        found.append(
            Bar(
                name=f"{runs[0]['nodes']} nodes at once: one component, all links symmetric",
                value=f"{whole} of {len(runs)} runs",
                bar="all",
                ok=whole == len(runs),
            )
        )
    if meshes := _of(cells, "mesh"):
        first, last = meshes[0], meshes[-1]
        growth = _per_link(last) / _per_link(first)
        found.append(
            Bar(
                name=f"processor time a link, mesh of {last['nodes']} over {first['nodes']}",
                value=f"{growth:.2f}",
                bar="<= 1",
                ok=growth <= 1 and all(cell["whole"] for cell in meshes),
            )
        )
    if openings := _of(cells, "lanes"):
        slowest = max(cell["seconds"] for cell in openings)
        found.append(
            Bar(
                name=f"seconds until {openings[0]['parallelism']} lanes are up, slowest run",
                value=f"{slowest:.2f}",
                bar=f"<= {LANES_SECONDS:g}",
                ok=slowest <= LANES_SECONDS,
            )
        )
    frozen = [c["seconds"] for c in _of(cells, "failure") if c["failure"] == "frozen"]
    if frozen:
        found.append(
            Bar(
                name="seconds until a frozen node is noticed by all, slowest run",
                value=f"{max(frozen):.2f}",
                bar=f"<= {FROZEN_SECONDS:g}",
                ok=max(frozen) <= FROZEN_SECONDS,
            )
        )
    return found


def table(cells: Sequence[Cell]) -> Table:
    """What a person wants to read: medians with their spread."""
    shown = Table(title="Formation and failure, one virtual machine per node", show_header=False)
    if runs := _of(cells, "formation"):
        shown.add_row(f"{runs[0]['nodes']} nodes at once to one component, s", _seconds(runs))
        per_node = spread(c["cpu_seconds"] / c["nodes"] for c in runs)
        shown.add_row("processor time of a node until then, s", per_node)
    for cell in _of(cells, "mesh"):
        shown.add_row(
            f"full mesh of {cell['nodes']}: {cell['links']} links",
            f"{cell['seconds']:.1f} s, {cell['cpu_seconds']:.1f} s of processor time, "
            f"{1000 * _per_link(cell):.0f} ms a link",
        )
    if openings := _of(cells, "lanes"):
        shown.add_row(f"{openings[0]['parallelism']} lanes up, s", _seconds(openings))
    for kind in ("killed", "frozen"):
        if of_kind := [c for c in _of(cells, "failure") if c["failure"] == kind]:
            shown.add_row(f"a {kind} node noticed by all, s", _seconds(of_kind))
    return shown


def draw(cells: Sequence[Cell], directory: Path) -> list[Path]:
    """Draws processor time against nodes of a full mesh, and returns the files."""
    meshes = _of(cells, "mesh")
    if not meshes:
        return []
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8, 4.5), layout="constrained")
        axes = figure.subplots()
        sizes = [cell["nodes"] for cell in meshes]
        seconds = [cell["cpu_seconds"] for cell in meshes]
        axes.loglog(sizes, seconds, "o-", color=BLUE, label="this runtime")
        axes.loglog(
            list(UPSTREAM_MESH),
            list(UPSTREAM_MESH.values()),
            "s--",
            color=VERMILION,
            markerfacecolor="none",
            label="Partisan 5.0.3 (did not form 24)",
        )
        slope = [seconds[0] * cell["links"] / meshes[0]["links"] for cell in meshes]
        axes.loglog(sizes, slope, ":", color=GREY, label="as the number of links")
        axes.set_xticks(sizes, [str(size) for size in sizes], minor=False)
        axes.set_xticks([], minor=True)
        axes.set_xlabel("nodes in a full mesh, all started at once")
        axes.set_ylabel("processor time until formed, s")
        axes.set_title("Processor time to form a full mesh", loc="left", fontweight="bold")
        axes.legend()
        return save(figure, directory, "mesh")


def _of(cells: Sequence[Cell], experiment: str) -> list[Cell]:
    return [cell for cell in cells if cell["experiment"] == experiment]


def _per_link(cell: Cell) -> float:
    return float(cell["cpu_seconds"]) / max(1, int(cell["links"]))


def _seconds(cells: Sequence[Cell]) -> str:
    return spread(cell["seconds"] for cell in cells)
