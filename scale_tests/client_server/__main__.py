"""`python -m scale_tests.client_server`: a server's memory with bounded queues and without bounds.

Prints a table, writes build/results/client_server.json and a picture; ends with 1 when a bar is
missed. `QUICK=1` has 128 clients and says so in the result; the environment variables `CLIENTS`,
`SPEEDUP`, `INCREMENTS` and `MEMORY_LIMIT` (MiB) set what they name.

A server receives a state of N counters from each of N clients per interval: what it has to do grows
with the square of the clients and with the speedup. So 128 clients at 64 times the speed are to it
what 1,024 are at the published intervals.
"""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from datetime import UTC, datetime

from rich.console import Console

from scale_tests.client_server import report
from scale_tests.client_server.experiment import INCREMENTS, Run, measure
from scale_tests.formation.fleet import FleetError, build_release
from scale_tests.harness import terminal
from scale_tests.harness.commands import CommandError
from scale_tests.harness.progress import StalledError
from scale_tests.results import versions
from scale_tests.results.conclusion import conclude

_FULL_CLIENTS, _QUICK_CLIENTS = 1024, 128
_FULL_SPEEDUP, _QUICK_SPEEDUP = 4.0, 256.0
_FULL_LIMIT, _QUICK_LIMIT = 4096.0, 1024.0


def plan(*, quick: bool) -> list[Run]:
    """One server and four with bounds, and one without."""

    def setting(name: str, full: float, short: float) -> float:
        return float(os.environ.get(name, short if quick else full))

    clients = int(setting("CLIENTS", _FULL_CLIENTS, _QUICK_CLIENTS))
    speedup = setting("SPEEDUP", _FULL_SPEEDUP, _QUICK_SPEEDUP)
    increments = int(setting("INCREMENTS", INCREMENTS, INCREMENTS))
    limit = setting("MEMORY_LIMIT", _FULL_LIMIT, _QUICK_LIMIT)
    return [
        Run(
            clients=clients,
            servers=servers,
            speedup=speedup,
            increments=increments,
            bounded=bounded,
            memory_limit=limit,
        )
        for servers, bounded in ((1, True), (4, True), (1, False))
    ]


def main() -> int:
    """Runs all of them."""
    quick = os.environ.get("QUICK") == "1"
    return terminal.run(
        lambda: _measure(Console(), plan(quick=quick), quick=quick),
        CommandError,
        FleetError,
        StalledError,
        interrupted=": nothing was written.",
    )


def _measure(console: Console, runs: list[Run], *, quick: bool) -> int:
    started = datetime.now(UTC)
    release = build_release()
    cells = [measure(run, release, console.print) for run in runs]
    return conclude(
        console,
        "client_server",
        started=started,
        versions=versions.of_machine(),
        cells=cells,
        bars=report.bars(cells),
        table=report.table(cells),
        draw=lambda directory: report.draw(cells, directory),
        config={"runs": [asdict(run) for run in runs], "nodes_are": "processes, not pods"},
        quick=quick,
    )


if __name__ == "__main__":
    sys.exit(main())
