"""One run: some servers, many clients, the ad counter with full states, and the servers' memory."""

import signal
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from scale_tests.benches.client_server.quota import quota
from scale_tests.cluster.fleet import Fleet, Plan, fleet, name
from scale_tests.cluster.wait import StallClock, wait_for
from scale_tests.host import procfs
from scale_tests.host.units import MIB
from scale_tests.measure.spread import Cell

INCREMENT_MS, PROPAGATION_MS, INCREMENTS = 10_000, 5_000, 180
"""The published intervals, and how often a node counts."""

STALL_SECONDS = 300.0
_STARTING_AT_ONCE = 16
_CLIENTS_ASKED = 8
_SAMPLE_SECONDS = 1.0

_BOUNDED = "[#{name => default}, #{name => gossip, monotonic => true}]"
# No newer state takes the place of one that waits, and no sender waits for room.
_UNBOUNDED = "[#{name => default}]"
NO_BOUNDS = (
    "-partisan settings #{lane_queue_bytes=>1000000000000,mailbox_messages=>1000000000}"
    " -lasp newest_only false"
)
"""Emulator flags that remove the bounds of a node."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """The plan of one run."""

    clients: int
    servers: int = 1
    speedup: float = 1.0
    """Time compression: the published intervals are divided by it."""

    increments: int = INCREMENTS
    """Increments of each node in the mean: the threshold is this times the number of nodes."""

    bounded: bool = True
    """With bounded queues; otherwise any number of states wait for a slow server, which reads them
    all."""

    server_cpus: float = 0.25
    """CPUs of a server: its share and its limit."""

    memory_limit: float = 4096.0
    """MiB at which a server counts as collapsed, and the run ends: its memory in the published
    run."""

    @property
    def nodes(self) -> int:
        """Servers and clients."""
        return self.clients + self.servers

    @property
    def title(self) -> str:
        """The run, as captions name it."""
        servers = "1 server" if self.servers == 1 else f"{self.servers} servers"
        return f"{self.clients:,} clients, {servers}, {'' if self.bounded else 'no '}bounds"

    def plan(self) -> Plan:
        """The configuration of its nodes."""
        servers = ", ".join(f'<<"{name(index)}">>' for index in range(self.servers))
        return Plan(
            nodes=self.nodes,
            servers=self.servers,
            overlay=f"{{client_server, #{{servers => [{servers}]}}}}",
            channels=_BOUNDED if self.bounded else _UNBOUNDED,
            workload=(
                f"{{adcounter, #{{ads => 1, impressions => {self.nodes * self.increments}, "
                f"increment_interval => {round(INCREMENT_MS / self.speedup)}, "
                f"propagation_interval => {round(PROPAGATION_MS / self.speedup)}, "
                "synchronization => state}}"
            ),
            run="client-server",
            emulator_flags="+S 1:1" if self.bounded else f"+S 1:1 {NO_BOUNDS}",
        )


def measure(run: Run, release: Path, say: Callable[[str], None]) -> Cell:
    """Runs to the end of the run or of a server; returns the cell.

    Raises ExpectedError: a node ended, or a server cannot have its CPU; StalledError: nodes did not
    join.
    """
    with quota(run.server_cpus) as take, fleet(run.plan(), release) as nodes:
        began = time.monotonic()
        _start(nodes, run, say)
        joined = time.monotonic() - began
        say(f"{run.title}: joined after {joined:.0f} s")
        [otp] = nodes.otp()
        nodes.start_run(0)
        # From here on only: a thousand that join are another matter, and one that is overloaded
        # does not answer a request to start.
        for index in range(run.servers):
            take(nodes.processes[index].pid)
        course = _watch(nodes, run, say)
    return {
        "experiment": "client_server",
        "otp": otp,
        **asdict(run),
        "seconds_joining": joined,
        **course,
    }


def _start(nodes: Fleet, run: Run, say: Callable[[str], None]) -> None:
    """Starts the nodes, a few at a time, each of which answers before the next ones are started."""
    for first in range(0, run.nodes, _STARTING_AT_ONCE):
        some = range(first, min(first + _STARTING_AT_ONCE, run.nodes))
        for index in some:
            nodes.start(index)
        _wait_joined(nodes, some)
        if some.stop % 128 == 0:
            say(f"{run.title}: {some.stop} nodes are up")


def _wait_joined(nodes: Fleet, some: range) -> None:
    wait_for(
        f"the nodes {some.start} to {some.stop - 1}",
        lambda: [view["joined"] for view in nodes.ask(some, "/overlay").values()],
        lambda joined: sum(joined) == len(some),
    )


def _watch(nodes: Fleet, run: Run, say: Callable[[str], None]) -> Cell:
    """How it ended (finished, collapsed, killed, or stalled), and the servers second by second."""
    samples: list[Cell] = []
    clock = StallClock()
    began = time.monotonic()
    while True:
        try:
            sample = _sample(nodes, run, time.monotonic() - began)
        except procfs.ENDED:
            ends = [nodes.processes[index].poll() for index in range(run.servers)]
            # Only the kernel kills one, for want of memory.
            if not samples or -signal.SIGKILL not in ends:
                raise
            say(f"{run.title}: the kernel has killed a server: ended")
            return {"outcome": "killed", "samples": samples}
        samples.append(sample)
        if sample["memory_mib"] > run.memory_limit:
            say(f"{run.title}: a server holds {sample['memory_mib']:.0f} MiB: ended")
            return {"outcome": "collapsed", "samples": samples}
        if sample["converged"] and (agreed := _agreement(nodes)):
            say(f"{run.title}: converged after {sample['second']:.0f} s")
            return {"outcome": "finished", "samples": samples, **agreed}
        percent = int(100 * sample["memory_mib"] / run.memory_limit)
        moves = (sample["value"], sample["done"], sample["converged"], percent)
        if clock.observe(moves) > STALL_SECONDS:
            return {"outcome": "stalled", "samples": samples}
        if len(samples) % 30 == 0:
            say(
                f"{run.title}: {sample['second']:.0f} s, {sample['memory_mib']:.0f} MiB, "
                f"value {sample['value']}, {sample['done']} nodes done"
            )
        time.sleep(_SAMPLE_SECONDS)


def _sample(nodes: Fleet, run: Run, second: float) -> Cell:
    """The largest server's memory, and the answers of servers and some clients."""
    servers = range(run.servers)
    memory = max(procfs.memory(nodes.processes[index].pid)["Pss"] for index in servers)
    clients = range(run.servers, run.nodes, max(1, run.clients // _CLIENTS_ASKED))
    statuses = nodes.ask([*servers, *clients], "/status")
    workloads = [status["workload"] for status in statuses.values()]
    answering = [statuses[index] for index in servers if index in statuses]
    channels = [channel for status in answering for channel in status["channels"].values()]
    return {
        "second": round(second, 1),
        "memory_mib": round(memory / MIB, 1),
        "servers_answering": len(answering),
        "value": max((workload["value"] for workload in workloads), default=0),
        "done": max((workload["nodes_done"] for workload in workloads), default=0),
        "converged": bool(workloads) and all(workload["converged"] for workload in workloads),
        "queue_bytes": sum(channel["queue_bytes"] for channel in channels),
        "dropped": sum(channel["dropped"] for channel in channels),
    }


def _agreement(nodes: Fleet) -> Cell | None:
    """The values of all nodes at the end; None while not all have reported that they converged."""
    statuses = list(nodes.ask(list(nodes.processes), "/status").values())
    workloads = [status["workload"] for status in statuses]
    if len(statuses) < len(nodes.processes) or not all(one["converged"] for one in workloads):
        return None
    return {
        "values": sorted({workload["value"] for workload in workloads}),
        "digests": len({workload["digest"] for workload in workloads}),
        "increments_sum": sum(workload["increments"] for workload in workloads),
        "bytes_payload": sum(status["sync_payload_bytes"] for status in statuses),
        "dropped": sum(
            channel["dropped"] for status in statuses for channel in status["channels"].values()
        ),
    }
