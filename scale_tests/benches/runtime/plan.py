"""The measurements, in their order, and their run."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from scale_tests.host.documents import data_of
from scale_tests.host.wire import Wire
from scale_tests.measure import systems
from scale_tests.measure.emulator import STOCK
from scale_tests.measure.spread import KB, MB, Cell
from scale_tests.measure.systems import DISTERL, OURS, RAW, Job, Settings, System

_DATA = data_of(__file__)

BULK = 8 * MB
PING = 100

OURS_STOCK, DISTERL_STOCK, RAW_STOCK = (
    replace(system, flags=STOCK) for system in (OURS, DISTERL, RAW)
)
OURS_CROWDED = replace(
    OURS,
    flags=replace(OURS.flags, name="crowded", arguments=(*OURS.flags.arguments, "+P", "65536")),
)
"""With room for as many processes as the most connections need."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One run. `wires` are pairs of milliseconds there and back, and a congestion control."""

    wires: Sequence[tuple[float, str]]
    payloads: Sequence[int]
    pairs: Sequence[int]
    milliseconds: int
    repetitions: int
    others: int
    """Repetitions of measurements without a target."""
    again: int
    """Repetitions of a near miss."""
    connections: Sequence[int]
    nodes: int


def plan(*, quick: bool, controls: Collection[str]) -> Plan:
    """The plan of a run, where the kernel has these congestion controls."""
    chosen = Plan(**_DATA["quick" if quick else "full"])
    further = [(20.0, "bbr")] if "bbr" in controls else []
    wires = [(float(rtt_ms), congestion) for rtt_ms, congestion in chosen.wires]
    return replace(chosen, wires=[*wires, *further])


Variant = tuple[System, int, bool]
"""A system, its lanes, and whether senders keep to theirs."""

ROUND_TRIPS = 100
"""So many round trips are added to the time of a throughput: windows take some to grow."""

CROWDED = (
    *((OURS_STOCK, 16, True), (DISTERL_STOCK, 1, True), (RAW_STOCK, 16, True)),
    *((OURS, 16, False), (RAW, 16, False)),
)
"""At the most pairs: sixteen lanes with the emulator's stock flags, and without affinity."""

SWEPT = 512 * KB
"""From this payload on, all numbers of pairs are measured on a line with a delay, as published;
elsewhere the fewest and the most."""


def throughput(chosen: Plan, *, rtt_ms: float, congestion: str) -> list[Job]:
    """All systems in turn at every point, for each repetition.

    The other congestion control is measured where many connections compete for the line.
    """
    fewest, most = chosen.pairs[0], chosen.pairs[-1]
    pinned = congestion == "reno"
    jobs = [
        job
        for repetition in range(chosen.repetitions if pinned else chosen.others)
        for payload in (chosen.payloads if pinned else (512 * KB,))
        for job in turn(chosen, abreast(1, 16), payload, rtt_ms, repetition)
    ]
    if not pinned:
        return jobs
    for payload in chosen.payloads:
        swept = chosen.pairs if rtt_ms > 0 and payload >= SWEPT else (fewest,)
        for repetition, count in product(range(chosen.others), swept):
            if count != most:
                jobs += turn(chosen, abreast(1, 16), payload, rtt_ms, repetition, pairs=count)
        for repetition in range(chosen.others):
            jobs += turn(chosen, CROWDED, payload, rtt_ms, repetition)
    return jobs


def abreast(*lanes: int) -> list[Variant]:
    """All systems, one after the other: compared figures are measured within seconds."""
    variants = [(OURS, lanes[0], True), (DISTERL, 1, True), (RAW, lanes[0], True)]
    return variants + [(system, number, True) for number in lanes[1:] for system in (OURS, RAW)]


def turn(
    chosen: Plan,
    variants: Sequence[Variant],
    payload: int,
    rtt_ms: float,
    repetition: int,
    *,
    pairs: int | None = None,
    attempt: int = 0,
) -> list[Job]:
    """A throughput of each variant."""
    common: Settings = {
        "experiment": "throughput",
        "payload": payload,
        "pairs": pairs or chosen.pairs[-1],
        "milliseconds": chosen.milliseconds + int(ROUND_TRIPS * rtt_ms),
    }
    return [
        Job(
            system=system,
            settings={**common, "channel": f"lanes_{lanes}", "affinity": affinity},
            repetition=repetition,
            attempt=attempt,
        )
        for system, lanes, affinity in variants
    ]


def head_of_line(chosen: Plan, *, rtt_ms: float) -> list[Job]:
    """A ping on one channel, without and with bulk on another, all systems in turn."""
    return pings((OURS, DISTERL, RAW), _ping_ms(chosen, rtt_ms), chosen.repetitions)


def again(
    chosen: Plan, points: Sequence[tuple[int, int]], *, ping: bool, rtt_ms: float
) -> list[Job]:
    """Near misses, with more repetitions: of so many bytes over so many lanes, and of a ping."""
    jobs = [
        job
        for payload, lanes in points
        for repetition in range(chosen.again)
        for job in turn(chosen, abreast(lanes), payload, rtt_ms, repetition, attempt=1)
    ]
    if ping:
        jobs += pings((OURS, RAW), _ping_ms(chosen, rtt_ms), chosen.again, attempt=1)
    return jobs


def _ping_ms(chosen: Plan, rtt_ms: float) -> int:
    return 2 * (chosen.milliseconds + int(ROUND_TRIPS * rtt_ms))


def pings(
    systems: Sequence[System], milliseconds: int, repetitions: int, *, attempt: int = 0
) -> list[Job]:
    """A ping without and with concurrent bulk, each for so long, of these systems in turn."""
    settings: Settings = {
        "experiment": "ping",
        "payload": PING,
        "bulk": BULK,
        "affinity": True,
        "milliseconds": milliseconds,
    }
    return [
        Job(system=system, settings=settings, repetition=repetition, attempt=attempt)
        for repetition, system in product(range(repetitions), systems)
    ]


def dispatch(chosen: Plan) -> list[Job]:
    """The cost of a send by the number of lanes, to sixteen of them and to all."""
    points = dict.fromkeys((count, few or count) for count in chosen.connections for few in (16, 0))
    settings: list[Settings] = [
        {"experiment": "dispatch", "connections": connections, "destinations": destinations}
        for connections, destinations in points
    ]
    return [
        Job(system=OURS_CROWDED, settings=own, repetition=repetition)
        for repetition, own in product(range(chosen.repetitions), settings)
    ]


def run(line: Wire, jobs: Sequence[Job], say: Callable[[str], None]) -> Iterator[Cell]:
    """As `systems.run`, with a line of progress for each cell."""
    for cell in systems.run(line, jobs):
        say(progress(cell))
        yield cell


def progress(cell: Cell) -> str:
    """A cell in a line."""
    free = "" if cell.get("affinity", True) else ", no affinity"
    return str(_DATA["progress"][cell["experiment"]].format(free=free, **cell))
