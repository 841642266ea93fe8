"""The cells, in their order, and how the Erlang side is asked for one."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from scale_tests.measure.spread import KB, MB
from scale_tests.measure.systems import DISTERL, OURS, RAW, Job, Settings, System

PAYLOADS = (512 * KB, 8 * MB)
ACTORS = (16, 32, 64, 128)
MOST = ACTORS[-1]
LANES = 16
WINDOW = 256 * KB
PARTITIONS = 48
"""Of the ring; 1,024 as published cannot be spaced evenly over three nodes."""

PUBLISHED_SECONDS = 120
"""Of the published runs of a service."""

MESSAGES = 10_000
SYSTEMS = ("ours", "disterl", "raw")
_CHANNELS = (
    *((f"lanes_{lanes}", lanes) for lanes in (1, 4, LANES)),
    *((f"single_{number}", 1) for number in range(1, LANES + 1)),
)
_RING_CHANNELS = (("vnode", LANES), ("handoff", 1), ("default", 1))
_MODULES = {"ours": OURS, "disterl": DISTERL, "raw": RAW}

BOOT_SECONDS, RING_SECONDS = 1.0, 2.5
"""Next to the measured time: of a message's cell; of one that boots three nodes and a ring."""


Place = tuple[int, int | str]
"""Milliseconds there and back, and the largest window."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One measurement, by everything that it depends on. What it does not depend on is None."""

    service: str
    """`ack`: a message and its acknowledgement, between two nodes; `echo` and `kvs`: of a ring;
    `history`: of the store, to be judged."""
    rtt_ms: int
    payload: int
    actors: int
    """Of each node."""
    seconds: int
    system: str = "ours"
    repetition: int = 0
    lanes: int = LANES
    channels: int = 0
    """Channels of one lane each that the actors share, instead of the lanes of one."""
    window: int | str = "default"
    overlay: str = "full_mesh"
    values: str | None = None
    """`cold`: an empty store; `warm`: one with a value for each key."""
    reads: str | None = None
    storage_ms: int | None = None

    @property
    def nodes(self) -> int:
        """How many virtual machines."""
        if self.service != "ack":
            return 3
        return 2 if self.overlay == "full_mesh" else 8

    @property
    def place(self) -> tuple[object, ...]:
        """Equal for cells that are measured on one network, one after the other."""
        return (self.service == "ack", self.rtt_ms, self.window, self.overlay)

    @property
    def cost(self) -> float:
        """Seconds that it takes, about."""
        return self.seconds + (BOOT_SECONDS if self.service == "ack" else RING_SECONDS)

    def is_of(self, done: dict[str, Any]) -> bool:
        """Whether a measured cell is this one."""
        return all(key in done and done[key] == value for key, value in asdict(self).items())

    def job(self, history: Path) -> Job:
        """The measurement, as the Erlang side is asked for it; `history` is the file of one."""
        settings: Settings = {
            "payload": self.payload,
            "milliseconds": self.seconds * 1000,
            "overlay": self.overlay,
        }
        if self.service == "ack":
            settings |= {"experiment": "ack", "pairs": self.actors, "messages": MESSAGES}
            settings |= (
                {"channels": self.channels} if self.channels else {"channel": f"lanes_{self.lanes}"}
            )
        else:
            settings |= {"experiment": "ring", "service": self.service, "actors": self.actors}
            settings |= {"partitions": PARTITIONS}
            if self.service == "history":
                settings |= {"experiment": "history", "service": "kvs", "file": f"'{history}'"}
            for name in ("values", "reads", "storage_ms"):
                if (value := getattr(self, name)) is not None:
                    settings[name] = value
        return Job(system=self._system(), settings=settings, repetition=self.repetition)

    def _system(self) -> System:
        system = _MODULES[self.system]
        if self.service != "ack":
            module = "bench_ring_raw" if self.system == "raw" else system.module
            return replace(system, module=module, nodes=3, channels=_RING_CHANNELS)
        if self.system == "ours":
            system = replace(system, nodes=self.nodes, overlay=self.overlay)
        return replace(system, channels=_CHANNELS)


def plan(*, quick: bool) -> list[Cell]:
    """All cells: those that are compared take turns within each repetition."""
    return [*acks(quick=quick), *rings(quick=quick)]


def acks(*, quick: bool) -> list[Cell]:
    """The microbenchmark: the full mesh, then pairs that are no neighbours."""
    seconds = 3 if quick else 24
    variants = [(LANES, 0)] if quick else [(1, 0), (4, 0), (LANES, 0), (1, 4), (1, LANES)]
    points = [
        Cell(service="ack", rtt_ms=rtt, payload=payload, actors=actors, seconds=seconds)
        for rtt, actors, payload in product((1, 20), (MOST,) if quick else ACTORS, PAYLOADS)
    ]
    far = [
        replace(point, overlay=overlay)
        for overlay in ("hyparview", "client_server")
        for point in points
        if point.actors == MOST and (not quick or (point.rtt_ms == 20 and point.payload < MB))
    ]
    found = [
        replace(point, lanes=lanes, channels=channels)
        for point in points
        for lanes, channels in variants
    ]
    found += [replace(point, lanes=lanes) for point in far for lanes in (1, LANES)]
    return [
        replace(cell, system=system, lanes=1 if system == "disterl" else cell.lanes)
        for cell in found
        for system in SYSTEMS
        # Distributed Erlang has one connection; raw sockets have no channels.
        if system == "ours" or (not cell.channels and (cell.lanes == LANES or system == "raw"))
        if not (system == "raw" and cell.lanes == 4)
    ]


def rings(*, quick: bool) -> list[Cell]:
    """Echo and store: targets first, at the most actors; then what has none."""
    echo = Cell(service="echo", rtt_ms=1, payload=PAYLOADS[0], actors=MOST, seconds=24)
    store = replace(echo, service="kvs", values="cold", reads="full", storage_ms=1)
    warm = replace(store, values="warm")
    places: list[Place] = [(1, "default"), (20, WINDOW)]
    targets = _at(places, [echo, store, warm], MOST)
    history = replace(store, service="history", payload=0, actors=16, storage_ms=0)
    if quick:
        return [
            replace(history, seconds=4),
            *_turns([replace(cell, seconds=_quick_seconds(cell)) for cell in targets], 1),
        ]
    targets = [_long_enough(cell) for cell in targets]
    others = _at([(20, "default"), (1, WINDOW)], [echo, store, warm], MOST)
    digest = [replace(cell, reads="digest") for cell in (store, warm)]
    slow = [replace(cell, storage_ms=10) for cell in (store, warm)]
    others += _at(places, [*digest, *slow], MOST)
    for actors in ACTORS[:-1]:
        others += _at(places, [echo, store], actors)
    return [
        history,
        *_turns(targets, 5),
        *_turns([_long_enough(replace(cell, seconds=10)) for cell in others], 3),
    ]


def _long_enough(cell: Cell) -> Cell:
    """An echo whose requests crowd a single connection is measured for longer.

    128 actors of a node have 85 echoes of 8 MB under way, there and back, on each connection of
    Distributed Erlang, which carries 7 MB/s: what ends within 24 s is what stays on a node.
    """
    if cell.service == "echo" and _is_slow(cell) and cell.window != "default":
        return replace(cell, seconds=max(cell.seconds, PUBLISHED_SECONDS * cell.actors // MOST))
    return cell


def _is_slow(cell: Cell) -> bool:
    return cell.rtt_ms > 1 and cell.payload >= MB


def _quick_seconds(cell: Cell) -> int:
    """Long enough for requests over a slow network to end, not only those within a node."""
    return 12 if _is_slow(cell) else 4


def seconds(cells: Iterable[Cell]) -> float:
    """How long they take, about."""
    return sum(cell.cost for cell in cells)


def _at(places: Sequence[Place], services: Sequence[Cell], actors: int) -> list[Cell]:
    return [
        replace(cell, rtt_ms=rtt, window=window, payload=payload, actors=actors)
        for (rtt, window), cell, payload in product(places, services, PAYLOADS)
    ]


def _turns(points: Sequence[Cell], repetitions: int) -> list[Cell]:
    """The systems in another order in each repetition."""
    found = []
    for point, repetition in product(points, range(repetitions)):
        first = repetition % len(SYSTEMS)
        for system in (*SYSTEMS[first:], *SYSTEMS[:first]):
            lanes = 1 if system == "disterl" else LANES
            found.append(replace(point, system=system, lanes=lanes, repetition=repetition))
    return found
