"""`python -m scale_tests client-server [run|report]`: a server with many clients.

`run` measures a server's memory with bounded queues and without, and writes after each run;
`report` writes the page again. `QUICK=1` has 128 clients; the environment variables `CLIENTS`,
`SPEEDUP`, `INCREMENTS`, `SERVER_CPUS` and `MEMORY_LIMIT` (MiB) set what they name.

Each of N clients sends a state of N counters per interval: the server's work grows with the square
of N and with the time compression. 128 clients at 64 times the speed are as much as 1,024. It has a
quarter of a CPU (root is needed).
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from math import inf
from typing import Any

from scale_tests.benches.client_server import pictures, report
from scale_tests.benches.client_server.experiment import INCREMENTS, Run, measure
from scale_tests.cluster.fleet import build_release
from scale_tests.host.commands import ExpectedError
from scale_tests.measure import versions
from scale_tests.measure.bench import Bench, Cell, Session, option

SETTINGS = {
    "CLIENTS": (1024, 128),
    "SPEEDUP": (4.0, 256.0),
    "INCREMENTS": (INCREMENTS, INCREMENTS),
    "SERVER_CPUS": (Run.server_cpus, Run.server_cpus),
    "MEMORY_LIMIT": (4096.0, 1024.0),
}
"""Variables of the environment, and what they are without it: in a full run, in a quick one."""


def _setting(name: str, default: float) -> float:
    """The value of a variable, of the type of its default. Raises ExpectedError."""
    text = os.environ.get(name)
    if text is None:
        return default
    with suppress(ValueError):
        if 0 < (value := type(default)(text)) < inf:
            return value
    whole = "whole " if isinstance(default, int) else ""
    raise ExpectedError(f"{name} is {text!r}: set it to a {whole}number above 0, or leave it")


def plan(*, quick: bool) -> list[Run]:
    """One server and four with bounds, and one without. Raises ExpectedError."""
    chosen: dict[str, Any] = {
        name.lower(): _setting(name, values[quick]) for name, values in SETTINGS.items()
    }
    kinds = ((1, True), (4, True), (1, False))
    return [Run(servers=servers, bounded=bounded, **chosen) for servers, bounded in kinds]


def _run(session: Session) -> int:
    if session.options.command == "report":
        return session.again()
    runs = plan(quick=session.quick)
    release = build_release()
    cells: list[Cell] = []
    for run in runs:
        cells.append(measure(run, release, session.say))
        # Each takes long, and the last one may use up the machine's memory: what there is is kept.
        save(session, cells, runs)
    return session.show(cells)


def save(session: Session, cells: Sequence[Cell], runs: Sequence[Run]) -> None:
    """Writes the runs that were made, out of all that were planned."""
    session.save(
        cells,
        versions=versions.of_machine(cell["otp"] for cell in cells),
        config={"runs": [asdict(run) for run in runs], "nodes_are": "processes, not pods"},
    )


BENCH = Bench(
    name="client-server",
    document="client_server",
    about=__doc__,
    measure=_run,
    report=report,
    draw=pictures.draw,
    quick="fewer clients",
    text=report.text,
    options=[option("command", nargs="?", choices=("run", "report"), default="run")],
    interrupted=": runs that have ended are kept.",
)
