"""Runs measurements and says what they found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from scale_tests.host.wire import Wire
from scale_tests.measure import systems
from scale_tests.measure.systems import Job

Cell = dict[str, Any]


def run(line: Wire, jobs: Sequence[Job], say: Callable[[str], None]) -> Iterator[Cell]:
    """As `systems.run`, with a line of progress for each cell."""
    for cell in systems.run(line, jobs):
        say(_progress(cell))
        yield cell


def _progress(cell: Cell) -> str:
    where = f"{cell['rtt_ms']:g} ms {cell['congestion']}, {cell['system']} ({cell['flags']})"
    match cell["experiment"]:
        case "throughput":
            return (
                f"{where}: {cell['payload']} B, {cell['pairs']} pairs, {cell['lanes']} lanes"
                f"{'' if cell['affinity'] else ', no affinity'}: {cell['mb_per_s']:.0f} MB/s, "
                f"{cell['msgs_per_s']:.0f} messages/s, p99 {cell['p99_ms']:.1f} ms, "
                f"{cell['cpu_us_per_message']:.1f} us of CPU, {cell['memory_mb']:.0f} MB"
            )
        case "ping":
            idle, loaded = cell["idle"]["p99_ms"], cell["loaded"]["p99_ms"]
            bulk = cell["bulk_mb_per_s"]
            return f"{where}: ping p99 {idle:.2f} ms, {loaded:.2f} ms next to {bulk:.0f} MB/s"
        case _:
            return (
                f"{cell['connections']} connections, {cell['destinations']} destinations: "
                f"{cell['ns_per_send']:.0f} ns a send"
            )
