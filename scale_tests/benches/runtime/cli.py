"""`python -m scale_tests runtime [PART ...]`: throughput, latency and memory of the runtime.

Prints tables, writes build/results/bench-runtime.json, footprint.json, a page and pictures; ends
with 1 when a target is missed. One that is missed by less than 0.05 is measured again, with more
repetitions; both are kept, and the second counts. `QUICK=1` takes fewer points. `waits` explains
slow pings instead, with `perf`.
"""

import mmap
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial

from scale_tests import otp
from scale_tests.benches.runtime import footprint, pictures, report, waits
from scale_tests.benches.runtime import plan as plans
from scale_tests.host import procfs
from scale_tests.host.wire import Wire, congestion_controls, wire
from scale_tests.measure import drawing, versions
from scale_tests.measure.bench import Bench, Session, names_of
from scale_tests.measure.spread import Cell
from scale_tests.measure.systems import Job

_TOUCHED = 0.75
"""The share of the free memory that is touched before the measurements."""

_BLOCK = 256 * 1024 * 1024

PARTS = ("throughput", "ping", "dispatch", "footprint")
WAITS = "waits"
"""Not a part of the comparison: explains slow pings."""


def _measure(session: Session) -> int:
    if WAITS in session.options.names:
        return waits.measure(session)
    chosen = plans.plan(quick=session.quick, controls=congestion_controls())
    parts = set(session.options.names or PARTS)
    otp.compile_runtime()
    touched = touch(int(_TOUCHED * procfs.memory_available()))
    session.say(f"touched {touched >> 20:,} MiB of memory, so that no measurement is the first to")
    cells = _cells(chosen, parts, session.say)
    weights = footprint.measure(chosen.nodes, session.say) if "footprint" in parts else []
    return session.conclude(
        cells,
        also={"footprint": weights} if weights else None,
        versions=versions.of_machine(c["otp"] for c in (*cells, *weights) if "otp" in c),
        config=asdict(chosen),
        seconds=session.seconds,
    )


def touch(size: int) -> int:
    """Touches so many bytes in whole blocks; returns how many.

    A hypervisor provides pages when they are first touched, which slows the first measurement.
    """
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | mmap.MAP_POPULATE
    blocks = [mmap.mmap(-1, _BLOCK, flags=flags) for _ in range(size // _BLOCK)]
    for block in blocks:
        block.close()
    return len(blocks) * _BLOCK


BENCH = Bench(
    name="runtime",
    document="bench-runtime",
    about=__doc__,
    measure=_measure,
    report=report,
    draw=partial(drawing.draw, pictures.PICTURES),
    quick="fewer points and repetitions",
    text=report.text,
    options=[names_of("PART", (*PARTS, WAITS))],
)


def _cells(chosen: plans.Plan, parts: set[str], say: Callable[[str], None]) -> list[Cell]:
    cells: list[Cell] = []
    for rtt_ms, congestion in chosen.wires:
        jobs = []
        if "throughput" in parts:
            jobs += plans.throughput(chosen, rtt_ms=rtt_ms, congestion=congestion)
        if congestion == "reno" and "ping" in parts:
            jobs += plans.head_of_line(chosen, rtt_ms=rtt_ms)
        if (rtt_ms, congestion) == chosen.wires[0]:
            jobs += plans.dispatch(chosen) if "dispatch" in parts else []
        if jobs:
            with wire(rtt_ms, congestion) as line:
                cells += plans.run(line, jobs, say)
                cells += plans.run(line, _again(chosen, cells, line), say)
    return cells


def _again(chosen: plans.Plan, cells: Sequence[Cell], line: Wire) -> list[Job]:
    """Near misses on this line, to be measured with more repetitions."""
    if line.congestion != "reno":
        return []
    missed = [target for target in report.near_misses(cells) if target.rtt_ms == line.rtt_ms]
    points = dict.fromkeys((t.point.payload, t.point.lanes) for t in missed if t.point)
    ping = any(target.point is None for target in missed)
    return plans.again(chosen, list(points), ping=ping, rtt_ms=line.rtt_ms)
