"""`python -m scale_tests mesh [SYSTEM ...]`: measures how large a cluster gets.

Prints tables, writes build/results/bench-mesh.json, a page and a picture. Cells that are done are
not repeated. `QUICK=1` takes two small sizes and says so in the result. Needs root for the memory
of nodes.
"""

from __future__ import annotations

import json
from functools import partial

from scale_tests import otp
from scale_tests.benches.mesh import report, systems
from scale_tests.benches.mesh.systems import SYSTEMS, Cell, System
from scale_tests.cluster.fleet import build_release
from scale_tests.host import files
from scale_tests.measure import drawing, versions
from scale_tests.measure.bench import Bench, Session, add_names

SIZES, QUICK_SIZES = (32, 64, 128, 256, 512, 1024), (8, 16)
TICK_SECONDS, QUICK_TICK_SECONDS = 15.0, 2.0
"""A tick of Distributed Erlang: a quarter of `net_ticktime`."""


def measure(session: Session) -> int:
    """Measures the systems that are named, or all."""
    release = build_release()
    otp.compile_runtime()
    cells: list[Cell] = []
    for system in SYSTEMS:
        if system.slug not in (session.options.names or names()):
            continue
        done: list[Cell] = []
        sizes = QUICK_SIZES if session.quick else SIZES
        while (nodes := systems.next_size(done, sizes)) is not None:
            done.append(_cell(session, system, nodes, partial(systems.measure, system, release)))
        cells += done
    return session.conclude(
        cells,
        versions=versions.of_machine({cell["otp"] for cell in cells if cell["otp"]}),
        config={"tick_seconds": _tick_seconds(session)},
    )


def names() -> list[str]:
    """The systems."""
    return [system.slug for system in SYSTEMS]


def _tick_seconds(session: Session) -> float:
    return QUICK_TICK_SECONDS if session.quick else TICK_SECONDS


def _cell(session: Session, system: System, nodes: int, run: partial[Cell]) -> Cell:
    """The figures of a cell that is done, or is done now."""
    kind = "quick" if session.quick else "full"
    file = session.directory / "cells" / f"{system.slug}-{nodes}-{kind}.json"
    if file.exists():
        done: Cell = json.loads(file.read_text())
        return done
    cell = run(nodes, _tick_seconds(session))
    session.say(
        f"{system.slug}, {nodes} nodes: "
        + (f"held for {cell['held_s']:.0f} s" if cell["held"] else f"no: {cell['ended_by']}")
    )
    file.parent.mkdir(parents=True, exist_ok=True)
    files.replace(file, json.dumps(cell, indent=1) + "\n")
    return cell


BENCH = Bench(
    name="mesh",
    about=__doc__,
    document="bench-mesh",
    measure=measure,
    report=report,
    draw=partial(drawing.draw, [report.PICTURE]),
    options=lambda parser: add_names(parser, "SYSTEM", names()),
    interrupted=": the same command continues with the cells that are not done.",
)
main = BENCH.main
