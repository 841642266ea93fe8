"""What is measured, in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from scale_tests.runtime.flags import STOCK, Flags, release

KB = 1024
MB = 1024 * KB
BULK = 8 * MB
PING = 100

Setting = str | int | bool
"""A value of a cell: a string is an Erlang atom."""

Settings = dict[str, Setting]


@dataclass(frozen=True, kw_only=True)
class System:
    """What is compared: a module of the application `bench` and the flags it runs with."""

    name: str
    module: str
    flags: Flags

    @property
    def label(self) -> str:
        """Names a pair of virtual machines."""
        return f"{self.name}_{self.flags.name}"


@dataclass(frozen=True, kw_only=True)
class Job:
    """One measurement: what the Erlang side is told, and what the result is labelled with."""

    system: System
    settings: Settings
    repetition: int


OURS = System(name="ours", module="bench_ours", flags=release())
OURS_STOCK = System(name="ours", module="bench_ours", flags=STOCK)
OURS_CROWDED = System(
    name="ours",
    module="bench_ours",
    flags=Flags(
        name="crowded",
        arguments=(*OURS.flags.arguments, "+P", "65536"),
        environment=OURS.flags.environment,
    ),
)
"""With room for as many processes as the most connections need."""

DISTERL = System(name="disterl", module="bench_disterl", flags=STOCK)
RAW = System(name="raw", module="bench_raw", flags=STOCK)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One run. `wires` are pairs of milliseconds there and back, and a congestion control."""

    wires: tuple[tuple[float, str], ...]
    payloads: tuple[int, ...]
    pairs: tuple[int, ...]
    milliseconds: int
    repetitions: int
    connections: tuple[int, ...]
    state_words: tuple[int, ...]
    callers: tuple[int, ...]
    costs_us: tuple[int, ...]
    nodes: int


def plan(*, quick: bool, controls: list[str]) -> Plan:
    """The plan of a run, where the kernel has these congestion controls."""
    delays = (0, 20) if quick else (0, 1, 20)
    wires = [(float(delay), "reno") for delay in delays]
    if "bbr" in controls:
        wires.append((20.0, "bbr"))
    return Plan(
        wires=tuple(wires),
        payloads=(KB, 512 * KB, 8 * MB) if quick else (KB, 64 * KB, 512 * KB, 8 * MB),
        pairs=(128,) if quick else (1, 16, 32, 64, 128),
        milliseconds=1000,
        repetitions=2 if quick else 5,
        connections=(16, 1024, 16384),
        state_words=(0, 10_000) if quick else (0, 1_000, 10_000, 100_000),
        callers=(1, 16) if quick else (1, 16, 256),
        costs_us=(0, 1000) if quick else (0, 1000, 10_000),
        nodes=32 if quick else 64,
    )


ROUND_TRIPS = 100
"""Beside `milliseconds`, how many round trips a throughput is measured for: windows take some to
grow."""

SWEPT = 512 * KB
"""From this payload on, all numbers of pairs are measured on a line with a delay, as published;
elsewhere the fewest and the most."""


def throughput(chosen: Plan, *, rtt_ms: float, congestion: str) -> list[Job]:
    """All systems in turn at every point, and that again for each repetition.

    The control beside the pinned one is measured where many connections compete for the line.
    """
    milliseconds = chosen.milliseconds + int(ROUND_TRIPS * rtt_ms)
    fewest, most = chosen.pairs[0], chosen.pairs[-1]
    points = [
        (payload, count)
        for payload in chosen.payloads
        for count in (chosen.pairs if rtt_ms > 0 and payload >= SWEPT else sorted({fewest, most}))
    ]
    if congestion != "reno":
        points = [(512 * KB, most)]
    jobs = []
    for repetition, (payload, count) in product(range(chosen.repetitions), points):
        variants = [(OURS, 1, True), (DISTERL, 1, True), (RAW, 1, True)]
        variants += [(OURS, 16, True), (RAW, 16, True)]
        if count == most:
            variants += [(OURS_STOCK, 16, True), (OURS, 16, False), (RAW, 16, False)]
        for system, lanes, affinity in variants:
            settings: Settings = {
                "experiment": "throughput",
                "payload": payload,
                "pairs": count,
                "channel": f"lanes_{lanes}",
                "affinity": affinity,
                "milliseconds": milliseconds,
            }
            jobs.append(Job(system=system, settings=settings, repetition=repetition))
    return jobs


def head_of_line(chosen: Plan) -> list[Job]:
    """A ping on one channel, without and with bulk on another, all systems in turn."""
    return pings((OURS, DISTERL, RAW), 2 * chosen.milliseconds, chosen.repetitions)


def pings(systems: Sequence[System], milliseconds: int, repetitions: int) -> list[Job]:
    """A ping without and with bulk beside it, each for so long, of these systems in turn."""
    settings: Settings = {
        "experiment": "ping",
        "payload": PING,
        "bulk": BULK,
        "milliseconds": milliseconds,
    }
    return [
        Job(system=system, settings=settings, repetition=repetition)
        for repetition, system in product(range(repetitions), systems)
    ]


def dispatch(chosen: Plan) -> list[Job]:
    """The cost of a send by the number of lanes, to sixteen of them and to all."""
    points = dict.fromkeys(
        (connections, destinations)
        for connections in chosen.connections
        for destinations in (16, connections)
    )
    return [
        Job(
            system=OURS_CROWDED,
            settings={
                "experiment": "dispatch",
                "connections": connections,
                "destinations": destinations,
            },
            repetition=repetition,
        )
        for repetition, (connections, destinations) in product(range(chosen.repetitions), points)
    ]


def replies(chosen: Plan) -> list[Job]:
    """The ways in which a `gen_server` may answer."""
    ways = ("inline", "spawn_state", "spawn_minimal", "pool", "read")
    points = product(chosen.state_words, chosen.callers, chosen.costs_us, ways)
    return [
        Job(
            system=OURS,
            settings={
                "experiment": "reply",
                "way": way,
                "state_words": words,
                "callers": callers,
                "cost_us": cost,
                "milliseconds": 250,
            },
            repetition=repetition,
        )
        for repetition, (words, callers, cost, way) in product(range(chosen.repetitions), points)
    ]
