"""From a time line to figures and counts."""

from collections.abc import Sequence
from dataclasses import dataclass

from scale_tests.benches.churn.scenario import Scenario
from scale_tests.benches.churn.timeline import Phase, Sample, sent, within
from scale_tests.measure.spread import Cell


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The effect of one fault. Times are in seconds; None where it did not come to that."""

    name: str
    kind: str
    at: float
    lasted: float | None
    """From the beginning of the fault to its own end: to the last kill, or to the healing."""
    killed: int
    least_reach_percent: float
    """The least share of the survivors in one component; links across a cut do not count."""
    told: float | None
    """Of a partition: from its beginning until the status reported `Partitioned`."""
    survivors_connected: float | None
    """From the fault's end until the survivors alone were one component, for good."""
    one_component: float | None
    """From the fault's end until all nodes were there again and joined, in one component."""
    accounted: float | None
    """From the fault's end until all replicas held what had been counted at `one_component`."""
    increments: int
    """Made from the beginning of the fault until `accounted`."""
    lost: int
    """Of those, and of earlier ones: counted by nodes that were killed before they synchronised."""
    restarted: tuple[str, ...]
    """Nodes that were not killed and have another incarnation."""
    bytes_per_second_and_node: float
    """Frames on all channels, from the beginning until one component."""
    payload_per_second_and_node: float


def outcome(phase: Phase, samples: Sequence[Sample]) -> Outcome:
    """The figures of one phase; `samples` are those of the whole recording."""
    nodes, end, lasting = len(phase.incarnations), phase.whole_at, phase.until
    seen = within(samples, phase.at, end)
    before = [s for s in samples if s.seconds <= phase.at][-1]
    settled = [before, *within(samples, phase.at, phase.accounted_at)][-1]
    frames, payload = _traffic(samples, phase.at, end)
    reported = next((s.seconds for s in seen if s.reported_partitioned), None)
    reached = [reach for s in seen if (reach := phase.reach(s)) is not None]
    return Outcome(
        name=phase.name,
        kind=phase.kind,
        at=round(phase.at, 1),
        lasted=_between(phase.at, lasting),
        killed=len(phase.victims),
        least_reach_percent=round(100 * min(reached, default=1.0), 1),
        told=_between(phase.at, reported) if phase.sides else None,
        survivors_connected=_connected(phase, seen),
        one_component=_between(lasting, end),
        accounted=_between(lasting, phase.accounted_at),
        increments=_made(settled) - _made(before),
        lost=settled.cluster.workload.lost_increments - before.cluster.workload.lost_increments,
        restarted=tuple(sorted({name for s in seen for name in phase.restarted(s)})),
        bytes_per_second_and_node=round(frames / nodes, 1),
        payload_per_second_and_node=round(payload / nodes, 1),
    )


@dataclass(frozen=True, kw_only=True)
class Recording:
    """A recording, ended or not, with at least one sample."""

    scenario: Scenario
    phases: Sequence[Phase]
    samples: Sequence[Sample]
    last: Sample | None
    """The sample that ended the count."""
    versions: dict[str, str]

    @property
    def outcomes(self) -> list[Outcome]:
        """The figures of each phase."""
        return [outcome(phase, self.samples) for phase in self.phases]

    @property
    def accounts(self) -> list[Cell]:
        """The replicas' values when the count was exact after a fault: all due, and none unmade.

        There is one for each phase whose count became exact, and one for `last`, the end, if it
        came. `due` was made until all nodes were one component again, without what was lost by
        then; `made` and `lost` are of the time of the values, and what is lost was made.
        """
        at = {sample.seconds: sample for sample in self.samples}
        ended = [
            (phase.name, at[phase.whole_at].accounted, at[phase.accounted_at])
            for phase in self.phases
            if phase.whole_at is not None and phase.accounted_at is not None
        ]
        ended += [("end of the count", self.last.accounted, self.last)] if self.last else []
        return [
            {
                "name": name,
                "due": due,
                "least": held.values[0],
                "largest": held.values[1],
                "made": _made(held),
                "lost": held.cluster.workload.lost_increments,
            }
            for name, due, held in ended
        ]


def exact(sample: Sample) -> bool:
    """Whether all replicas of a finished run are equal, and right to the last increment."""
    run = sample.cluster.workload
    return (
        {node.value for node in sample.nodes} == {run.value}
        and len({node.digest for node in sample.nodes}) == 1
        and run.value + run.lost_increments == run.increments_sum
    )


def _connected(phase: Phase, seen: Sequence[Sample]) -> float | None:
    """When the survivors were one component for good, from the end of the fault."""
    if phase.until is None or phase.whole_at is None:
        return None
    reached = [(s.seconds, phase.reach(s)) for s in seen if s.seconds >= phase.until]
    apart = [seconds for seconds, reach in reached if reach is not None and reach < 1]
    later = [seconds for seconds, _ in reached if not apart or seconds > apart[-1]]
    return round(max(0.0, min(later, default=phase.whole_at) - phase.until), 1) if apart else 0.0


def _traffic(samples: Sequence[Sample], start: float, end: float | None) -> tuple[float, float]:
    """Bytes per second of all nodes together: frames, and payload."""
    line = [(t, total) for t, total in sent(samples) if start <= t and (end is None or t <= end)]
    if len(line) < 2:
        return 0.0, 0.0
    (began, first), (ended, last) = line[0], line[-1]
    frames, payload = (last[kind] - first[kind] for kind in ("frames", "payload"))
    return frames / (ended - began), payload / (ended - began)


def _made(sample: Sample) -> int:
    return sample.cluster.workload.increments_sum


def _between(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else round(end - start, 1)
