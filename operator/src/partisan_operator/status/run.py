"""The run of the workload: its counter, its increments, and its losses.

Every node counts under an *actor*, and the counter has one entry for each actor. A node that loses
its storage restarts as another actor. Increments that the old one had not yet sent are lost, and
must be reported. So the operator remembers the last figure of every actor (`Ledger`), and writes
those of departed actors (`departed`) into the status, which outlives the operator.

For a finished run of a correct counter: value = incrementsSum - lostIncrements.

Custom workloads report the figures that they have; those without actors lose no increments.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from partisan_operator.models.clock import from_unix, to_wire
from partisan_operator.models.status import MAX_COUNT, WorkloadStatus
from partisan_operator.models.workload import AD_COUNTER
from partisan_operator.observe.report import NodeReport, WorkloadReport, workload_reports
from partisan_operator.status import departed
from partisan_operator.status.departed import DepartedActors, node_of


@dataclass(frozen=True)
class Ledger:
    """The actor that each pod last counted under, and its increments."""

    run: str = ""
    actors: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    """Pod -> actor, increments."""


@dataclass(frozen=True)
class Verdict:
    """Whether the nodes agree."""

    converged: bool
    reason: str
    message: str


def advance(
    ledger: Ledger,
    known: DepartedActors,
    run: str,
    expected: tuple[str, ...],
    reports: Mapping[str, NodeReport],
    restored: Iterable[str] = (),
) -> tuple[Ledger, DepartedActors]:
    """Advance the ledger by new reports; return it and the departed actors.

    `known` are the departed actors in the status, `restored` further nodes that a backup may have
    counts of. An actor has departed when its pod counts under another one or is no longer expected.
    A pod that does not answer keeps its actor.
    """
    if ledger.run != run:
        ledger = Ledger(run)
    parts = workload_reports(reports, run)
    current = {
        pod: (part.actor, part.increments)
        for pod, part in parts.items()
        # A node that counts under another's name is ignored.
        if node_of(part.actor) == pod and part.phase != "waiting"
    }
    wanted = frozenset(expected)
    gone = {
        actor: increments
        for pod, (actor, increments) in ledger.actors.items()
        if pod not in wanted or (pod in current and current[pod][0] != actor)
    }
    nodes = known.nodes.union(expected, ledger.actors, restored)
    alive = {actor for actor, _ in current.values()}
    after = departed.advance(known, gone, _superseded(parts, nodes), alive)
    actors = {
        pod: current.get(pod) or ledger.actors[pod]
        for pod in expected
        if pod in current or pod in ledger.actors
    }
    return Ledger(run, actors), after


def measure(
    ledger: Ledger,
    gone: DepartedActors,
    reports: Mapping[str, NodeReport],
    *,
    module: str,
    threshold: int,
    earlier: WorkloadStatus | None,
    finished: bool,
    now: float,
) -> WorkloadStatus:
    """Return the status of the run of a module.

    `earlier` is the status of the same run, if any: a finished run keeps it, and so does a run that
    no node reports. `finished` is whether every node has finished; `now` is the time in seconds
    since 1970, which no node's clock may exceed.
    """
    if earlier is not None and earlier.phase == "Finished":
        return earlier
    losses: dict[str, Any] = {
        "replaced_nodes": gone.actors,
        "retired": gone.retired,
        "folded": gone.folded,
    }
    parts = workload_reports(reports, ledger.run)
    if not parts and earlier is not None:
        return earlier.model_copy(update=losses)
    started = [part.started_at for part in parts.values() if part.started_at is not None]
    ended = [part.finished_at for part in parts.values() if part.finished_at is not None]
    running = bool(started) or any(part.phase != "waiting" for part in parts.values())
    value = max((part.value for part in parts.values()), default=0)
    made = sum(increments for _, increments in ledger.actors.values())
    started_at = to_wire(from_unix(min(min(started), now))) if started else None
    counts = module == AD_COUNTER
    measured = WorkloadStatus(
        run=ledger.run,
        module=module,
        phase="Finished" if finished else "Running" if running else "Waiting",
        started_at=(earlier.started_at if earlier else None) or started_at,
        finished_at=to_wire(from_unix(min(max(ended), now))) if finished and ended else None,
        observed_at=to_wire(from_unix(now)) if parts else None,
        value=value,
        increments_sum=min(made + gone.increments, MAX_COUNT),
        threshold=threshold,
        overcounting_percent=(
            round(100 * (value - threshold) / threshold, 3)
            if counts and finished and threshold
            else None
        ),
        lost_increments=_lost(made, gone, value, finished=finished) if counts else 0,
        bytes=min(sum(report.sync_payload_bytes for report in reports.values()), MAX_COUNT),
    )
    return measured.model_copy(update=losses)


def reported_threshold(run: str, reports: Mapping[str, NodeReport]) -> int:
    """Return the value that ends the run, as reported by the nodes; 0 if none reports it."""
    return max((part.threshold for part in workload_reports(reports, run).values()), default=0)


def verdict(run: str, expected: tuple[str, ...], reports: Mapping[str, NodeReport]) -> Verdict:
    """Whether every expected node has finished the run with the same counter."""
    parts = workload_reports(reports, run)
    total = len(expected)
    if len(parts) < total:
        return Verdict(False, "NodesMissing", f"{total - len(parts)} of {total} nodes are missing")
    if not any(part.phase != "waiting" for part in parts.values()):
        return Verdict(False, "Waiting", "The run has not started: the overlay is not complete")
    done = sum(part.phase == "finished" and part.converged for part in parts.values())
    if done < total:
        return Verdict(False, "Running", f"{done} of {total} nodes have finished")
    digests = {part.digest for part in parts.values()}
    if len(digests) > 1 or len({part.value for part in parts.values()}) > 1:
        return Verdict(False, "CountersDiffer", f"The nodes hold {len(digests)} different counters")
    return Verdict(True, "Converged", f"All {total} nodes hold the same counter")


def _superseded(parts: Mapping[str, WorkloadReport], nodes: Set[str]) -> dict[str, int]:
    """Return the greatest entry that any node holds of each superseded actor.

    Actors of nodes that the cluster never had are ignored.
    """
    entries: dict[str, int] = {}
    for part in parts.values():
        for actor, counted in part.superseded.items():
            if node_of(actor) in nodes:
                entries[actor] = max(counted, entries.get(actor, 0))
    return entries


def _lost(made: int, gone: DepartedActors, value: int, *, finished: bool) -> int:
    """Return the increments of departed actors that no counter holds.

    Nodes report the entries of actors that a later one replaced, but not those of nodes that were
    scaled down: the sum of these is the remainder of the value when the run has finished.
    """
    lost = gone.lost
    if finished:
        remaining = value - made - gone.counted
        lost += max(0, gone.unreported - max(0, remaining))
    return min(lost, MAX_COUNT)
