"""The systems under comparison, and one cluster of one of them."""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

from scale_tests.cluster.fleet import Fleet, FleetError, Plan, address, fleet, hints, name
from scale_tests.cluster.views import Views, components, links, one_sided
from scale_tests.cluster.wait import StalledError
from scale_tests.host import procfs
from scale_tests.measure import emulator
from scale_tests.measure.spread import Cell

TICKS = 3
STALL_SECONDS = 60.0
FORMATION_SECONDS = 900.0
"""Until a cluster that still makes progress is given up."""

POLL_SECONDS_PER_NODE = 0.01
"""Between two questions to all nodes while a cluster forms: the answers take processor time."""

SECONDS_PER_NODE = 0.5
"""Of start, formation and end, as estimated."""

RESERVE_BYTES = 2_000_000_000
"""Memory of the machine that no cluster gets."""

MEMORY_CHECK_SECONDS = 0.1

PERIODS = {
    "xbot": "#{optimisation_interval => 60000}",
    "cyclon": "#{shuffle_interval => 60000}",
    **dict.fromkeys(("scamp_v1", "scamp_v2", "hiscamp"), "#{heartbeat_interval => 15000}"),
}
"""Parameters of overlays whose work at rest does not fit on one machine with the defaults.

Each node of X-BOT and of Cyclon connects to others once a period, by default 10 s.
"""

EPMD_PORT = 4370
"""Of all nodes of Distributed Erlang, each on an address of its own: without epmd."""


@dataclass(frozen=True, kw_only=True)
class System:
    """A messaging system on one overlay. `flags` are None for ours."""

    name: str
    overlay: str
    parameters: Callable[[int], str] | None = None
    """Those of our overlay, for so many nodes; None for Distributed Erlang."""
    servers: int = 0
    flags: tuple[str, ...] | None = None
    contacts: str = "seed"
    """The nodes that a node of Distributed Erlang connects to: the `seed`, or all `lower` ones."""

    @property
    def slug(self) -> str:
        """Names it on the command line and in files."""
        return f"{self.name}-{self.overlay}"

    def is_whole(self, views: Views, nodes: int) -> bool:
        """Whether it has formed: a mesh when every node lists all others, else one component."""
        if len(views) < nodes:
            return False
        if "mesh" in self.overlay:
            return links(views) == nodes * (nodes - 1) // 2 and not one_sided(views)
        return len(components(views)) == 1


def _ours(kind: str, parameters: str | None = None, servers: int = 0) -> System:
    given = parameters or PERIODS.get(kind, "#{}")
    return System(name="ours", overlay=kind, parameters=lambda _: given, servers=servers)


def _ring(nodes: int) -> str:
    """Edges from each node to the next, and everyone's address."""
    edges = ", ".join(f"{{{index}, {(index + 1) % nodes}}}" for index in range(nodes))
    return f"#{{edges => [{edges}], peers => [{hints(range(nodes))}]}}"


def _names(count: int) -> str:
    """The first nodes, in a list of our configuration."""
    return ", ".join(f'<<"{name(index)}">>' for index in range(count))


SYSTEMS = (
    System(name="disterl-stock", overlay="mesh", flags=()),
    System(
        name="disterl-tuned",
        overlay="mesh",
        # Every pair connects by itself: global does not lock names at each new node.
        flags=("-connect_all", "false", "-kernel", "prevent_overlapping_partitions", "false"),
        contacts="lower",
    ),
    _ours("full_mesh"),
    _ours("client_server", f"#{{servers => [{_names(1)}]}}", servers=1),
    _ours("publish_subscribe", f"#{{brokers => [{_names(3)}]}}", servers=3),
    _ours("hyparview"),
    _ours("xbot"),
    _ours("cyclon"),
    _ours("scamp_v1"),
    _ours("scamp_v2"),
    _ours("hiscamp"),
    System(name="ours", overlay="static", parameters=_ring),
)


class MemoryEndedError(Exception):
    """The cluster has taken the memory of the machine, and was ended."""

    def __init__(self, figures: Cell) -> None:
        super().__init__(figures)
        self.figures = figures


class TooSlowError(Exception):
    """The cluster has not formed in time."""


class Best:
    """The most links and the fewest parts so far: the progress of a cluster that forms.

    Nodes that disconnect and reconnect one another for ever make none.
    """

    def __init__(self, nodes: int) -> None:
        self._nodes, self._links, self._parts = nodes, 0, nodes

    def __call__(self, views: Views) -> tuple[int, int]:
        """The best, with these views. A node that does not answer is a part of its own."""
        parts = len(components(views)) + self._nodes - len(views)
        self._links, self._parts = max(self._links, links(views)), min(self._parts, parts)
        return self._links, self._parts


def next_size(done: Sequence[Cell], sizes: Sequence[int]) -> int | None:
    """The size to measure after these: larger until one is not held, then one half-way."""
    sizes_held = [int(cell["nodes"]) for cell in done if cell["held"]]
    if len(sizes_held) == len(done):
        return sizes[len(done)] if len(done) < len(sizes) else None
    # The half-way size is the last one, whatever comes of it.
    *_, last = done
    if last["held"] or any(not cell["held"] for cell in done[:-1]):
        return None
    return (max(sizes_held, default=0) + int(last["nodes"])) // 2


def remaining(done: Sequence[Cell], sizes: Sequence[int]) -> list[int]:
    """The sizes left to measure after these if all of them are held."""
    if all(cell["held"] for cell in done):
        return list(sizes[len(done) :])
    half_way = next_size(done, sizes)
    return [] if half_way is None else [half_way]


def seconds(nodes: int, tick_seconds: float) -> float:
    """The estimated time of a cell on two processors."""
    return nodes * SECONDS_PER_NODE + TICKS * tick_seconds


def measure(system: System, release: Path, nodes: int, tick_seconds: float) -> Cell:
    """Starts a cluster, and watches it for three ticks once it has formed.

    Our nodes are configured to send heartbeats as often as those of Distributed Erlang their ticks.
    """
    cell: Cell = {
        **{"system": system.name, "overlay": system.overlay, "nodes": nodes, "otp": None},
        **{"formed": False, "formed_s": None, "held": False, "held_s": 0.0, "ended_by": None},
        **{"cpu_s_per_node": None, "memory_mb_per_node": None},
    }
    parameters = system.parameters(nodes) if system.parameters else "#{}"
    overlay = f"{{{system.overlay if system.parameters else 'full_mesh'}, {parameters}}}"
    heartbeat_ms = round(tick_seconds * 1000)
    plan = Plan(nodes=nodes, overlay=overlay, servers=system.servers, heartbeat_ms=heartbeat_ms)
    with (
        tempfile.TemporaryDirectory(prefix="mesh-") as directory,
        fleet(plan, Path(directory), release) as started,
    ):
        if system.flags is not None:
            started.command = lambda index: command(system, index)
            started.variables = dict(emulator.release().environment)
        try:
            _observe(system, started, cell, tick_seconds)
        except FleetError as error:
            # The emulator's own end, such as without memory, is a result.
            cell["ended_by"] = str(error).splitlines()[0]
    return cell


def command(system: System, index: int) -> list[str]:
    """A node of Distributed Erlang with the release's emulator flags."""
    paths = sorted(str(path) for path in emulator.build().glob("default/lib/bench/ebin"))
    contacts = range(index) if system.contacts == "lower" else range(min(index, 1))
    return [
        *("erl", *emulator.release().arguments, "+MMscs", "0", "-noshell", "-noinput"),
        *("-start_epmd", "false", "-erl_epmd_port", str(EPMD_PORT), *(system.flags or ())),
        *("-pa", *paths, "-run", "bench_mesh", "main"),
        *(f"{name(one)}@{address(one)}" for one in (index, *contacts)),
    ]


@contextmanager
def within_memory(started: Fleet) -> Iterator[Callable[[], bool]]:
    """A check: True, or raises MemoryEndedError with the figures of the nodes.

    When less than the machine's reserve is left, nodes are stopped, measured and killed. By a
    thread of its own, since a machine without memory moves pages in and out, and no node answers.
    """
    over, ended = Event(), list[Cell]()

    def watch() -> None:
        while not over.wait(MEMORY_CHECK_SECONDS):
            if procfs.memory_available() < RESERVE_BYTES:
                pids = _pids(started)
                procfs.send(signal.SIGSTOP, pids)
                ended.append(_figures(pids))
                procfs.send(signal.SIGKILL, pids)
                return

    def check() -> bool:
        if ended:
            raise MemoryEndedError(ended[0])
        return True

    watcher = Thread(target=watch)
    watcher.start()
    try:
        yield check
    finally:
        over.set()
        watcher.join()


def _pids(started: Fleet) -> list[int]:
    # Of a copy: nodes may be started meanwhile.
    return [node.pid for node in list(started.processes.values())]


def _figures(pids: Sequence[int]) -> Cell:
    return {
        "cpu_s_per_node": sum(map(procfs.cpu_seconds, pids)) / len(pids),
        "memory_mb_per_node": sum(procfs.memory(pid)["Pss"] for pid in pids) / len(pids) / 1e6,
    }


def _tick(started: Fleet, seconds: float) -> Views:
    """The last view of each node that has answered within a tick."""
    views: Views = {}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(seconds / 3)
        views = {**views, **started.views()}
    return views


def _observe(system: System, started: Fleet, cell: Cell, tick_seconds: float) -> None:
    nodes = started.plan.nodes
    began = time.monotonic()
    with within_memory(started) as check:

        def is_whole(views: Views) -> bool:
            return check() and system.is_whole(views, nodes)

        try:
            for index in range(nodes):
                check()
                started.start(index)

            def is_formed(views: Views) -> bool:
                formed = is_whole(views)
                if not formed and time.monotonic() - began > FORMATION_SECONDS:
                    raise TooSlowError
                return formed

            started.await_views(
                is_formed,
                progress=Best(nodes),
                stall_seconds=STALL_SECONDS,
                period_seconds=POLL_SECONDS_PER_NODE * nodes,
            )
            cell |= {"formed": True, "formed_s": time.monotonic() - began, "held": True}
            cell["otp"] = next(iter(started.otp()), None)
            _hold(is_whole, started, cell, tick_seconds)
            cell |= _figures(_pids(started))
        except MemoryEndedError as error:
            cell |= error.figures | {"held": False, "ended_by": "memory"}
        except StalledError:
            cell |= _figures(_pids(started)) | {"ended_by": "not formed"}
        except TooSlowError:
            minutes = f"{FORMATION_SECONDS / 60:.0f} minutes"
            cell |= _figures(_pids(started)) | {"ended_by": f"not formed in {minutes}"}


def _hold(
    is_whole: Callable[[Views], bool], started: Fleet, cell: Cell, tick_seconds: float
) -> None:
    """Watches a cluster that has formed, for three ticks or until it is whole no more."""
    formed = time.monotonic()
    for _ in range(TICKS):
        cell["held"] = is_whole(_tick(started, tick_seconds))
        if not cell["held"]:
            cell["ended_by"] = "a node lost others, or did not answer in a tick"
            break
        cell["held_s"] = time.monotonic() - formed
