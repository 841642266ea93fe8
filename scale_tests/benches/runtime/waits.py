"""`python -m scale_tests runtime waits`: what slow pings next to bulk wait for.

perf records the kernel's scheduler: how much of the slow pings' time was a thread of the two
emulators ready without a processor? Needs root, and `perf` (Debian: linux-perf).
"""

import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scale_tests import otp
from scale_tests.benches.runtime import plan
from scale_tests.host.commands import CommandError, ExpectedError, lines, relative
from scale_tests.host.wire import wire
from scale_tests.measure import versions
from scale_tests.measure.bench import Session
from scale_tests.measure.document import document, write
from scale_tests.measure.page import Table
from scale_tests.measure.spread import Cell
from scale_tests.measure.systems import OURS
from scale_tests.measure.tables import terminal_table

_REPETITIONS = 5
_MILLISECONDS = 2000
"""How long each repetition pings, without bulk and again with it."""

_EVENTS = ("sched:sched_switch", "sched:sched_wakeup", "sched:sched_wakeup_new")
_EVENT = re.compile(r"(?P<seconds>\d+)\.(?P<nanoseconds>\d{9}): +sched:sched_(?P<name>\w+): ")
_SWITCH = re.compile(
    r"prev_comm=(?P<comm>.*) prev_pid=(?P<left>\d+) prev_prio=\d+ prev_state=(?P<state>\S+)"
    r" ==> next_comm=.* next_pid=(?P<entered>\d+) "
)
_WAKEUP = re.compile(r"comm=(?P<comm>.*) pid=(?P<thread>\d+) prio=")
_THREAD = re.compile(r"sched|poll")
"""An emulator's threads that run processes or wait for sockets, by name, in OTP 25 to 27."""

Span = tuple[int, int]
"""From when until when, in nanoseconds of the kernel's monotonic clock."""


@dataclass(frozen=True, kw_only=True)
class Explained:
    """A slow ping, and the share of its time in which a thread waited for a processor.

    `longest_ms` is the longest of these waits.
    """

    milliseconds: float
    share: float
    longest_ms: float


def waits(events: Iterable[str]) -> Iterator[Span]:
    """The times in which an emulator's thread was ready and not running, from `perf script`.

    Ordered by their ends; those of different threads overlap.
    """
    ready: dict[str, int] = {}
    for line in events:
        if (event := _EVENT.search(line)) is None:
            continue
        at = int(event["seconds"]) * 1_000_000_000 + int(event["nanoseconds"])
        rest = line[event.end() :]
        if event["name"] == "switch":
            if (switch := _SWITCH.search(rest)) is None:
                continue
            if (since := ready.pop(switch["entered"], None)) is not None:
                yield since, at
            if switch["state"].startswith("R") and _THREAD.search(switch["comm"]):
                ready[switch["left"]] = at
        elif (woken := _WAKEUP.search(rest)) is not None and _THREAD.search(woken["comm"]):
            ready.setdefault(woken["thread"], at)


def explain(pings: Iterable[Span], waited: Sequence[Span]) -> list[Explained]:
    """For each ping, how much of it at least one of the waits covers."""
    found = []
    for begin, end in pings:
        inside = sorted((max(a, begin), min(b, end)) for a, b in waited if a < end and b > begin)
        covered, reached = 0, begin
        for a, b in inside:
            covered += max(0, b - max(a, reached))
            reached = max(reached, b)
        found.append(
            Explained(
                milliseconds=(end - begin) / 1e6,
                share=covered / (end - begin),
                longest_ms=max((b - a for a, b in inside), default=0) / 1e6,
            )
        )
    return found


def measure(session: Session) -> int:
    """Measures and explains the pings of this runtime without a delay.

    Raises ExpectedError.
    """
    if shutil.which("perf") is None:
        raise ExpectedError("there is no `perf`: install it (Debian: linux-perf)")
    otp.compile_runtime()
    with tempfile.TemporaryDirectory(prefix="waits-") as directory:
        trace = Path(directory, "trace")
        cells = _pings(trace, session.say)
        script = ["perf", "script", "--input", str(trace), "--ns"]
        waited = list(waits(lines([*script, "--fields", "comm,tid,time,event,trace"])))
    found = explain(((a, b) for cell in cells for a, b in cell["loaded"]["slow_ns"]), waited)
    if not found:
        session.say("no ping was slow")
        return 0
    session.console.print(terminal_table("Slow pings", _table(cells, found)))
    file = write(
        document(
            "bench-waits",
            started=session.started,
            versions=versions.of_machine(cell["otp"] for cell in cells),
            cells=[asdict(ping) for ping in found],
            checks=[],
            config={"repetitions": _REPETITIONS, "bulk": plan.BULK, "rtt_ms": 0},
        )
    )
    session.say(f"Written: {relative(file)}")
    return 0


def _pings(trace: Path, say: Callable[[str], None]) -> list[Cell]:
    argv = ["perf", "record", "--quiet", "--all-cpus", "--clockid", "CLOCK_MONOTONIC"]
    argv += ["--mmap-pages", "16384", "--output", str(trace)]
    argv += [word for event in _EVENTS for word in ("--event", event)]
    jobs = plan.pings([OURS], _MILLISECONDS, _REPETITIONS)
    # Ends, and writes what it has, when its standard input does.
    with (
        wire(0, "reno") as line,
        subprocess.Popen([*argv, "--", "cat"], stdin=subprocess.PIPE) as recorder,
    ):
        assert recorder.stdin is not None
        try:
            cells = list(plan.run(line, jobs, say))
        finally:
            recorder.stdin.close()
    if recorder.returncode != 0:
        raise CommandError(argv, recorder.returncode, "its output is above")
    return cells


def _table(cells: Sequence[dict[str, Any]], found: Sequence[Explained]) -> Table:
    shares = [ping.share for ping in found]
    row = [
        str(sum(cell["loaded"]["messages"] for cell in cells)),
        str(len(found)),
        f"{statistics.fmean(shares):.0%} (median {statistics.median(shares):.0%})",
        f"{max(ping.longest_ms for ping in found):.1f}",
    ]
    share = "share of theirs spent ready, without a processor"
    return Table(head=("pings", "of these over 2 ms", share, "longest wait, ms"), rows=[row])
