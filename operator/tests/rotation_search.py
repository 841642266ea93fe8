"""The rotation of an authority under faults: all executions with one, and a share of others.

The decision is the operator's own (`decide.rotation.outlook`); what it observes and changes is
`rotation_cluster`. Nodes use what `partisan_credentials` would: the files that they read last, as
long as these are usable. It is the operator's logic, which has no counterpart in Erlang, so it is
searched here and not by `verify_own`; a fault means the same:

    drop    a write or scrape fails, a kubelet or node does not look at its files in this round,
            or the Secret NAME-ca is deleted
    late    a write or an update of files takes effect a round later, whatever has happened
            meanwhile; a scrape brings the report of the round before
    crash   the operator does not run for two rounds; a node's pod is replaced, and starts in this
            round with the present Secret; a node's container restarts, with the files that it has

Invariant: at every moment any two living nodes with a certificate in use authenticate each other.
Ten rounds after the last fault only the present authority is trusted, by all nodes, and the
rotation is settled.

The mutation `does_not_wait`: the operator takes every node to use what the Secret holds.

    PYTHONPATH=src:tests python tests/rotation_search.py [--quick] [--mutation=does_not_wait]
"""

import argparse
import json
import resource
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

from partisan_operator.decide.rotation import Loaded, Outlook, Step, outlook
from partisan_operator.models.status import Rotation
from partisan_operator.observe.certificates import NodesSecret
from rotation_cluster import POLICY, Cluster, settled

NODES = 4
MUTATIONS = ("does_not_wait",)

FAULTY_ROUNDS = 7
QUIET_ROUNDS = 10
SHARES = (1.0, 0.5, 0.002)
"""Of the points at which a first, second and third fault is tried. More than 10,000 executions."""

FAULTS = {
    "authority": ("drop",),
    "scrape": ("drop", "late"),
    "write": ("drop", "late", "crash"),
    "kubelet": ("drop", "late", "crash"),
    "node": ("drop", "crash"),
}

Key = tuple[str, str, int]
"""Kind of the point, name of the node if any, and round."""

Schedule = dict[Key, str]
"""The faults of an execution, in order."""


class ViolationError(Exception):
    """The invariant does not hold."""


@dataclass
class Execution:
    """One execution, with the faults of its schedule."""

    schedule: Schedule
    mutation: str | None = None
    cluster: Cluster = field(default_factory=lambda: settled(NODES))
    points: list[Key] = field(default_factory=list)
    """Those that it has passed."""

    files: dict[str, NodesSecret | None] = field(default_factory=dict)
    updates: dict[str, NodesSecret | None] = field(default_factory=dict)
    """Of files, that take effect in the next round."""

    reports: dict[str, Loaded | None] = field(default_factory=dict)
    """Of the last round."""

    write: Step | None = None
    """That arrives in the next round."""

    down_until: int = 0
    """Round in which an operator runs again."""

    def run(self) -> None:
        """Run from the loss of NAME-ca to the end. Raises `ViolationError`."""
        self.files = dict.fromkeys(self.cluster.nodes, self.cluster.store.nodes)
        self.reports = dict(self.cluster.nodes)
        self._delete_authority()
        for number in range(FAULTY_ROUNDS + QUIET_ROUNDS):
            self._round(number)
        self._check_end()

    def _round(self, number: int) -> None:
        if self._fault("authority", "", number) == "drop":
            self._delete_authority()
        arriving, self.write = self.write, None
        self._operate(number)
        if arriving is not None:
            self.cluster.perform(arriving)
        for name in self.cluster.nodes:
            self._update(name, number)
        for name in self.cluster.nodes:
            self._read(name, number)

    def _fault(self, kind: str, name: str, number: int) -> str | None:
        key = (kind, name, number)
        if number < FAULTY_ROUNDS:
            self.points.append(key)
        return self.schedule.get(key)

    def _delete_authority(self) -> None:
        self.cluster.store = replace(self.cluster.store, authority=None)

    def _operate(self, number: int) -> None:
        if number < self.down_until:
            return
        seen: dict[str, Loaded | None] = {}
        for name, loaded in self.cluster.nodes.items():
            fault = self._fault("scrape", name, number)
            seen[name] = {None: loaded, "drop": None, "late": self.reports[name]}[fault]
        self.reports = dict(self.cluster.nodes)
        step = self._outlook(seen).step
        match self._fault("write", "", number):
            case "drop":
                pass
            case "late":
                self.write = step
            case "crash":
                self.down_until = number + 2
            case _ if step is not None:
                self.cluster.perform(step)

    def _outlook(self, seen: dict[str, Loaded | None]) -> Outlook:
        if self.mutation == "does_not_wait":
            seen = {}
        return outlook(self.cluster.store, POLICY, seen, self.cluster.now)

    def _update(self, name: str, number: int) -> None:
        if name in self.updates:
            self.files[name] = self.updates.pop(name)
            return
        match self._fault("kubelet", name, number):
            case "drop":
                pass
            case "late":
                self.updates[name] = self.cluster.store.nodes
            case "crash":
                self.cluster.nodes[name] = None
                self.files[name] = self.cluster.store.nodes
            case _:
                self.files[name] = self.cluster.store.nodes

    def _read(self, name: str, number: int) -> None:
        match self._fault("node", name, number):
            case "drop":
                return
            case "crash":
                self.cluster.nodes[name] = None
        self.cluster.read(name, self.files[name])
        if not self.cluster.connects():
            raise ViolationError(f"round {number}: {self.cluster.nodes}")

    def _check_end(self) -> None:
        seen, store = self._outlook(self.cluster.nodes), self.cluster.store
        assert store.authority is not None
        assert store.authority.certificate is not None
        present = store.authority.certificate.fingerprint
        trusted = {loaded and loaded.trusted for loaded in self.cluster.nodes.values()}
        if seen != Outlook(None, Rotation.SETTLED, ()) or trusted != {frozenset({present})}:
            raise ViolationError(f"not settled: {seen}, {self.cluster.nodes}")


@dataclass
class Result:
    """Executions of a search, and those that violate the invariant."""

    executions: int = 0
    failing: int = 0
    counterexample: tuple[Schedule, str] | None = None
    """Of those with the fewest faults the first."""

    def add(self, schedule: Schedule, violated: str | None) -> None:
        self.executions += 1
        if violated is not None:
            self.failing += 1
            if self.counterexample is None or len(schedule) < len(self.counterexample[0]):
                self.counterexample = (schedule, violated)


def search(shares: Sequence[float] = SHARES, mutation: str | None = None) -> Result:
    """Run all executions with up to one fault per share, and the shares of those with more."""
    result = Result()
    beginning = settled(NODES)
    pending: list[Schedule] = [{}]
    while pending:
        schedule = pending.pop()
        execution = Execution(schedule, mutation, beginning.copy())
        try:
            execution.run()
        except ViolationError as violated:
            result.add(schedule, str(violated))
        else:
            result.add(schedule, None)
        if len(schedule) < len(shares):
            pending += _further(schedule, execution.points, shares[len(schedule)])
    return result


def _further(schedule: Schedule, points: Sequence[Key], share: float) -> Iterator[Schedule]:
    """Yield the schedules with one more fault, after the last one."""
    last = max((points.index(key) for key in schedule), default=-1)
    for key in points[last + 1 :]:
        for fault in FAULTS[key[0]]:
            further = {**schedule, key: fault}
            if zlib.crc32(repr(further).encode()) < share * 2**32:
                yield further


def main(arguments: Sequence[str] | None = None) -> dict[str, Any]:
    """Search, and return the cell of the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="executions with one fault only")
    parser.add_argument("--mutation", choices=MUTATIONS)
    given = parser.parse_args(arguments)
    shares = SHARES[:1] if given.quick else SHARES
    started = monotonic()
    result = search(shares, given.mutation)
    seconds = monotonic() - started
    schedule, why = result.counterexample or ({}, "")
    return {
        "protocol": "rotation",
        "nodes": NODES,
        "scope": "recursive",
        "order": "distinct",
        "hosted": False,
        "otp": None,
        "mutation": given.mutation,
        "faults": len(shares),
        "executions": result.executions,
        "failing": result.failing,
        "seconds": seconds,
        "executions_per_s": result.executions / seconds,
        "memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
        "counterexample": [[*key, fault] for key, fault in schedule.items()],
        "violated": why,
    }


if __name__ == "__main__":
    print(json.dumps(main()))
