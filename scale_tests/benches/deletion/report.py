"""From cells to bars, a table and a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scale_tests.benches.deletion.plan import LARGEST_MESH, SIZES
from scale_tests.measure.bars import Bar
from scale_tests.measure.page import Page, Section, Table, bars_table, hardware, listed

Cell = Mapping[str, Any]

SHARE_OF_FORMATION = 0.2
LARGEST_SECONDS = 60.0
ANSWER_SECONDS = 1.0

_HEAD = (
    "overlay",
    "nodes",
    "deleted",
    "s to the last pod",
    "CPU of the nodes, s",
    "CPU of the formation, s",
    "share",
    "API calls",
    "slowest answer, s",
    "pods left",
)


def share(cell: Cell) -> float:
    """The processor time of the deletion over that of the formation."""
    return float(cell["nodes_cpu_s"]) / max(0.01, float(cell["formation_cpu_s"]))


def bars(cells: Sequence[Cell]) -> list[Bar]:
    """The targets."""
    found = [_share_bar(nodes, [c for c in cells if c["nodes"] == nodes]) for nodes in SIZES]
    largest = [c for c in cells if c["nodes"] == SIZES[-1]]
    slowest = max((float(c["seconds"]) for c in largest), default=None)
    gone = all(c["left"] == 0 for c in largest)
    found.append(
        Bar(
            name=f"seconds until {SIZES[-1]:,} nodes are gone, slowest",
            value=slowest,
            bar=f"<= {LARGEST_SECONDS:g}, none left",
            ok=None if slowest is None else slowest <= LARGEST_SECONDS and gone,
        )
    )
    answer = max((float(c["slowest_answer_s"]) for c in cells), default=None)
    found.append(
        Bar(
            name="seconds for an answer of the API server meanwhile, slowest",
            value=answer,
            bar=f"<= {ANSWER_SECONDS:g}",
            ok=None if answer is None else answer <= ANSWER_SECONDS,
        )
    )
    return found


def _share_bar(nodes: int, cells: Sequence[Cell]) -> Bar:
    name = f"{nodes:,} nodes: CPU of the deletion over that of the formation, worst overlay"
    bar = f"<= {SHARE_OF_FORMATION:g}, none left"
    if not cells:
        return Bar(name=name, value=None, bar=bar, ok=None)
    worst = max(cells, key=share)
    ok = share(worst) <= SHARE_OF_FORMATION and all(c["left"] == 0 for c in cells)
    return Bar(name=name, value=f"{share(worst):.3f} ({worst['overlay']})", bar=bar, ok=ok)


def table(cells: Sequence[Cell]) -> Table:
    """A row for each cell."""
    rows = [
        (
            c["overlay"],
            f"{c['nodes']:,}",
            c["deleted"],
            f"{c['seconds']:.1f}",
            f"{c['nodes_cpu_s']:.1f}",
            f"{c['formation_cpu_s']:.1f}",
            f"{share(c):.3f}",
            f"{c['api_calls']:,}",
            f"{c['slowest_answer_s']:.2f}",
            str(c["left"]),
        )
        for c in cells
    ]
    return Table(head=_HEAD, rows=rows)


def page(meta: Mapping[str, Any], cells: Sequence[Cell], held: Sequence[Bar]) -> Page:
    """The page of a run."""
    extent = "`QUICK=1`: 64 nodes, three overlays" if meta["quick"] else "full"
    texts = [
        f"{extent}; {hardware(meta['machine'])}; {listed(meta['versions'])}.",
        "Nodes are plain processes of a node agent. API server, controllers, scheduler and "
        "operator are real. CPU is that of the nodes' processes: from the apply until all have "
        "joined one overlay, and from the delete until the last process has ended. The API server "
        "is asked for a small list four times a second meanwhile.",
        f"There is no full mesh above {LARGEST_MESH} nodes: one of 256 has 200,000 connections, "
        "all of them on this machine, and two CPUs did not form it.",
    ]
    return Page(
        title=f"`make bench-deletion`, {meta['started'][:16]} UTC",
        sections=[
            Section(text=texts),
            Section(title="Targets", parts=[bars_table(held)]),
            Section(title="Cells", parts=[table(cells)]),
        ],
    )
