"""Runs measurements on the Erlang side and reads their results."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from scale_tests.benches.runtime.plan import Job, Setting, System
from scale_tests.host.wire import Host, Wire
from scale_tests.measure import emulator
from scale_tests.measure.emulator import term

Cell = dict[str, Any]


def run(line: Wire, jobs: Sequence[Job], say: Callable[[str], None]) -> Iterator[Cell]:
    """Runs the jobs in order; yields a cell for each. Raises CommandError.

    CommandError also reports messages that are missing, doubled or damaged.
    """
    if not jobs:
        return
    found = emulator.lines("bench_driver", plan_text(line, jobs))
    for job, text in zip(jobs, found, strict=True):
        cell = labelled(job, line, json.loads(text))
        say(_progress(cell))
        yield cell


def labelled(job: Job, line: Wire, figures: Cell) -> Cell:
    """A cell: the figures and everything that they depend on."""
    cell = {**figures, "system": job.system.name, "flags": job.system.flags.name}
    cell |= {"rtt_ms": line.rtt_ms, "congestion": line.congestion, "repetition": job.repetition}
    cell |= {"attempt": job.attempt, "emulator_flags": " ".join(job.system.flags.arguments)}
    if channel := cell.pop("channel", None):
        cell["lanes"] = int(channel.removeprefix("lanes_"))
    return cell


def plan_text(line: Wire, jobs: Sequence[Job]) -> str:
    """The plan as the Erlang side reads it: one term."""
    systems = {job.system.label: job.system for job in jobs}
    hosts = ", ".join(_host(host) for host in line.hosts)
    described = ",\n    ".join(f"{label} => {_system(s)}" for label, s in systems.items())
    cells = ",\n    ".join(_map({"system": job.system.label, **job.settings}) for job in jobs)
    return f"""\
#{{hosts => [{hosts}],
  systems => #{{
    {described}}},
  cells => [
    {cells}]}}.
"""


def _host(host: Host) -> str:
    return f"#{{ip => {{{host.ip.replace('.', ',')}}}, command => {term(host.command)}}}"


def _system(system: System) -> str:
    variables = ", ".join(f'{{"{name}", "{value}"}}' for name, value in system.flags.environment)
    return (
        f"#{{module => {system.module}, arguments => {term(system.flags.arguments)}, "
        f"environment => [{variables}]}}"
    )


def _map(settings: dict[str, Setting]) -> str:
    return "#{" + ", ".join(f"{key} => {term(value)}" for key, value in settings.items()) + "}"


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
