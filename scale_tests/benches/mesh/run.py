"""One cluster of a system: started, formed and watched."""

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scale_tests.benches.mesh.systems import System
from scale_tests.cluster.fleet import Fleet, FleetError, Plan, address, fleet, name
from scale_tests.cluster.views import Views, components, links
from scale_tests.cluster.wait import StalledError, repeating
from scale_tests.host import procfs
from scale_tests.measure import emulator
from scale_tests.measure.spread import Cell

TICKS = 3
STALL_SECONDS = 60.0
FORMATION_SECONDS = 900.0
"""Until a cluster that still makes progress is given up."""

POLL_SECONDS_PER_NODE = 0.01
"""Between two questions to all nodes while a cluster forms: the answers take processor time."""

RESERVE_BYTES = 2_000_000_000
"""Memory of the machine that no cluster gets."""

MEMORY_CHECK_SECONDS = 0.1

EPMD_PORT = 4370
"""Of all nodes of Distributed Erlang, each on an address of its own: without epmd."""


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


def measure(system: System, release: Path, nodes: int, tick_seconds: float) -> Cell:
    """Starts a cluster, and watches it for three ticks once it has formed.

    Our nodes are configured to send heartbeats as often as those of Distributed Erlang their ticks.
    """
    cell: Cell = {
        **{"system": system.name, "overlay": system.overlay, "nodes": nodes, "otp": None},
        **{"formed": False, "formed_s": None, "held": False, "held_s": 0.0, "ended_by": None},
        **{"cpu_s_per_node": None, "memory_mb_per_node": None},
    }
    overlay, heartbeat_ms = system.configured(nodes), round(tick_seconds * 1000)
    plan = Plan(nodes=nodes, overlay=overlay, servers=system.servers, heartbeat_ms=heartbeat_ms)
    with fleet(plan, release) as started:
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
    ended = list[Cell]()

    def watch() -> None:
        if not ended and procfs.memory_available() < RESERVE_BYTES:
            pids = _pids(started)
            procfs.send(signal.SIGSTOP, pids)
            ended.append(_figures(pids))
            procfs.send(signal.SIGKILL, pids)

    def check() -> bool:
        if ended:
            raise MemoryEndedError(ended[0])
        return True

    with repeating(watch, MEMORY_CHECK_SECONDS):
        yield check


def _pids(started: Fleet) -> list[int]:
    # Of a copy: nodes may be started meanwhile.
    return [node.pid for node in list(started.processes.values())]


def _figures(pids: Sequence[int]) -> Cell:
    return {
        "cpu_s_per_node": sum(map(procfs.cpu_seconds, pids)) / len(pids),
        "memory_mb_per_node": sum(procfs.memory(pid)["Pss"] for pid in pids) / len(pids) / 1e6,
    }


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
                    raise TooSlowError(f"not formed in {FORMATION_SECONDS / 60:.0f} minutes")
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
        except TooSlowError as error:
            cell |= _figures(_pids(started)) | {"ended_by": str(error)}


def _hold(
    is_whole: Callable[[Views], bool], started: Fleet, cell: Cell, tick_seconds: float
) -> None:
    """Watches a cluster that has formed, for three ticks or until it is whole no more."""
    formed = time.monotonic()
    for _ in range(TICKS):
        # The last view of each node that has answered within the tick.
        views: Views = {}
        end = time.monotonic() + tick_seconds
        while time.monotonic() < end:
            time.sleep(tick_seconds / 3)
            views = {**views, **started.views()}
        cell["held"] = is_whole(views)
        if not cell["held"]:
            cell["ended_by"] = "a node lost others, or did not answer in a tick"
            break
        cell["held_s"] = time.monotonic() - formed
