"""Messaging systems under comparison: the Erlang application `bench` on a wire.

A benchmark makes jobs; `run` has `bench_driver` measure them, each on a group of virtual machines
of its system, and yields a cell for each.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from scale_tests.host.wire import Wire
from scale_tests.measure import emulator
from scale_tests.measure.emulator import Flags, release, term
from scale_tests.measure.spread import Cell

Setting = str | int | bool
"""A value of a cell: a string is an Erlang atom."""

Settings = dict[str, Setting]


@dataclass(frozen=True, kw_only=True)
class System:
    """One of the systems compared: a module of the application `bench`, and its flags."""

    name: str
    module: str
    flags: Flags
    channels: tuple[tuple[str, int], ...] = ()
    """Names of channels and their lanes; none for the defaults of `bench_system`."""
    nodes: int = 2
    """How many virtual machines; messages go between two of them."""
    overlay: str = "full_mesh"
    """Of ours: with another, the measured two are no neighbours."""
    paths: tuple[str, ...] = ()
    """Of its compiled applications; none for those that measure."""

    @property
    def label(self) -> str:
        """Names a group of virtual machines."""
        return f"{self.name}_{self.flags.name}"


@dataclass(frozen=True, kw_only=True)
class Job:
    """One measurement: the settings of the Erlang side, and labels of the result."""

    system: System
    settings: Settings
    repetition: int
    attempt: int = 0
    """1 where a near miss is measured again, with more repetitions."""


OURS, DISTERL, RAW = (
    System(name=name, module=f"bench_{name}", flags=release())
    for name in ("ours", "disterl", "raw")
)


def run(line: Wire, jobs: Sequence[Job], *, alive: str = "all") -> Iterator[Cell]:
    """Runs the jobs in order; yields a cell for each. Raises CommandError.

    With `alive` "one", a group is started for each cell, so that they never share the memory. The
    systems of one run differ in their labels.

    CommandError also reports messages that are missing, doubled or damaged.
    """
    if not jobs:
        return
    found = emulator.lines("bench_driver", plan_text(line, jobs, alive=alive))
    for job, text in zip(jobs, found, strict=True):
        yield labelled(job, line, json.loads(text))


def labelled(job: Job, line: Wire, figures: Cell) -> Cell:
    """A cell: the figures and everything that they depend on."""
    cell = {**figures, "system": job.system.name, "flags": job.system.flags.name}
    cell |= {"rtt_ms": line.rtt_ms, "congestion": line.congestion, "repetition": job.repetition}
    cell |= {"attempt": job.attempt, "emulator_flags": " ".join(job.system.flags.arguments)}
    cell["window"] = "default" if line.window is None else line.window
    if channel := cell.pop("channel", None):
        cell["lanes"] = int(channel.removeprefix("lanes_"))
    return cell


def plan_text(line: Wire, jobs: Sequence[Job], *, alive: str = "all") -> str:
    """The plan as the Erlang side reads it: one term."""
    plan = {
        "hosts": [
            {"ip": f"{{{host.ip.replace('.', ',')}}}", "command": host.command}
            for host in line.hosts
        ],
        "alive": alive,
        "systems": {job.system.label: _system(job.system) for job in jobs},
        "cells": [{"system": job.system.label, **job.settings} for job in jobs],
    }
    return f"{term(plan)}.\n"


def _system(system: System) -> dict[str, Any]:
    variables = ", ".join(f'{{"{name}", "{value}"}}' for name, value in system.flags.environment)
    channels = ", ".join(f"{{{name}, {lanes}}}" for name, lanes in system.channels)
    return {
        "module": system.module,
        "arguments": system.flags.arguments,
        "environment": f"[{variables}]",
        "nodes": system.nodes,
        "overlay": system.overlay,
        **({"paths": system.paths} if system.paths else {}),
        **({"channels": f"[{channels}]"} if channels else {}),
    }
