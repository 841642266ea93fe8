"""`python -m scale_tests ring`: echo, a key-value store and acknowledged messages, as published.

Three systems in turns: this runtime, Distributed Erlang and raw sockets, under the same ring. A
cell that is done is kept in DIRECTORY/cells.jsonl and not measured again, nor is one that the
document in DIRECTORY has: a full run may take several sittings, and `--out docs/results/ring`
continues the published one. `--plan` prints how long it takes and measures nothing. `QUICK=1` takes
fewer points, once each, too few to hold targets. Needs root.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from scale_tests import otp
from scale_tests.benches.ring import pictures, report
from scale_tests.benches.ring import plan as plans
from scale_tests.benches.ring.plan import Cell
from scale_tests.host.wire import wire
from scale_tests.measure import drawing, systems, versions
from scale_tests.measure.bench import Bench, Session, option, some_of
from scale_tests.measure.judge import linearizable

KEPT = (
    *("ops_per_s", "remote_per_s", "mb_per_s", "p50_ms", "p99_ms"),
    *("found", "timeouts", "refused", "cpu_s", "relayed", "operations", "violations"),
    *("otp", "congestion", "flags", "emulator_flags"),
)
"""Figures and circumstances of a cell."""

SERVICES = ("ack", "history", "echo", "kvs")


def _measure(session: Session) -> int:
    wanted = session.options
    planned = plans.plan(quick=session.quick)
    done = _done(session)
    todo = [
        cell
        for cell in planned
        if cell.service in (wanted.services or SERVICES) and _find(cell, done) is None
    ]
    session.say(
        f"{len(planned)} cells, {plans.seconds(planned) / 60:.0f} minutes in all; "
        f"{len(todo)} are left, which take {plans.seconds(todo) / 60:.0f}"
    )
    if wanted.plan:
        return 0
    if todo and not wanted.report:
        otp.compile_runtime()
        done += list(_run(todo, session))
    cells = [found for cell in planned if (found := _find(cell, done)) is not None]
    return session.conclude(
        cells,
        versions=versions.of_machine(cell["otp"] for cell in cells),
        config={
            "partitions": plans.PARTITIONS,
            "messages": plans.MESSAGES,
            "planned": len(planned),
        },
        complete=len(cells) == len(planned),
    )


BENCH = Bench(
    name="ring",
    document="bench-ring",
    about=__doc__,
    measure=_measure,
    report=report,
    draw=partial(drawing.draw, pictures.PICTURES),
    quick="fewer points, each once and for seconds, too few to hold targets",
    text=report.text,
    options=(
        option("--plan", action="store_true", help="print how long it takes"),
        option("--report", action="store_true", help="the page of what is done"),
        option("--services", type=some_of(SERVICES), default=(), help=f"of {', '.join(SERVICES)}"),
    ),
    interrupted=": the same command continues with the cells that are not done.",
)


def _done(session: Session) -> list[dict[str, Any]]:
    """The cells of this run, and of the document that it continues."""
    file = _file(session)
    found = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    return found + session.published()


def _file(session: Session) -> Path:
    return session.directory / "cells.jsonl"


def _find(cell: Cell, done: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    return next((found for found in done if cell.is_of(found)), None)


def _sitting(session: Session) -> dict[str, str]:
    """When and of which source cells are measured: they need not be of one day."""
    return {"day": f"{session.started:%Y-%m-%d}", "source": versions.of_repository()["source"]}


def _run(todo: Sequence[Cell], session: Session) -> Iterator[dict[str, Any]]:
    """Measures the cells; yields each when it is written."""
    started, file, sitting = time.monotonic(), _file(session), _sitting(session)
    file.parent.mkdir(parents=True, exist_ok=True)
    whole, passed, number = plans.seconds(todo), 0.0, 0
    for (is_ack, rtt_ms, window, _), group in groupby(todo, key=lambda cell: cell.place):
        cells = list(group)
        size = None if window == "default" else int(str(window))
        ends = max(cell.nodes for cell in cells)
        with wire(float(str(rtt_ms)), "reno", ends=ends, window=size) as line:
            history = session.directory / "history.jsonl"
            jobs = [cell.job(history) for cell in cells]
            found = systems.run(line, jobs, alive="all" if is_ack else "one")
            for cell, figures in zip(cells, found, strict=True):
                row = asdict(cell) | {key: figures.get(key) for key in KEPT}
                row |= sitting | {"timeouts": figures.get("timeouts", 0)}
                if cell.service == "history":
                    (verdict,) = linearizable.judge([history])
                    row |= {"keys": verdict.keys, "not_linearizable": [*verdict.wrong]}
                    row["ops_per_s"] = figures["operations"] / cell.seconds
                with file.open("a") as out:
                    out.write(json.dumps(row) + "\n")
                number, passed = number + 1, passed + cell.cost
                left = (time.monotonic() - started) * (whole - passed) / passed
                session.say(f"[{number}/{len(todo)}, {left / 60:.0f} min left] {report.line(row)}")
                yield row
