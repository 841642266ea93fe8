"""The faults, one after the other, on a cluster that counts."""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from scale_tests.benches.churn.faults import FaultError, Faults
from scale_tests.benches.churn.timeline import Phase, Sample
from scale_tests.cluster.kube import Json
from scale_tests.cluster.sampler import Sampler
from scale_tests.cluster.subject import manifest

PUBLISHED_FROM = 128
"""Nodes from which on they count at the published pace; fewer count more while a fault lasts."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """The faults, and how long each lasts; times are in seconds."""

    nodes: int
    seed: int = 1
    synchronization: str = "Delta"
    kills: tuple[float, ...] = (0.1, 0.3, 0.5)
    """Shares of the nodes that are killed at once."""
    churn_share_per_minute: float = 0.01
    churn_at_least: float = 4.0
    """Nodes killed per minute where the share of a small cluster is less: it would see none."""
    churn_seconds: float = 180.0
    partition_seconds: float = 60.0
    """Duration of the partition; 0 for none."""
    calm_seconds: float = 20.0
    """Duration without faults at first, whose traffic is the baseline."""
    rest_seconds: float = 10.0
    """Pause after each fault, so that the next one begins in a settled cluster."""

    @property
    def pace(self) -> tuple[int, int]:
        """The intervals at which each node counts, and synchronises with its neighbours."""
        return (10, 5) if self.nodes >= PUBLISHED_FROM else (2, 1)

    @property
    def churn_per_minute(self) -> float:
        """Nodes killed per minute while the churn lasts."""
        return max(self.churn_share_per_minute * self.nodes, self.churn_at_least)

    @property
    def faults(self) -> int:
        """The number of faults."""
        return len(self.kills) + 1 + bool(self.partition_seconds)

    @property
    def counting_seconds(self) -> float:
        """How long the nodes count: until the last fault is over, and two seconds for each killed.

        That is twice what two processors need to replace a pod when nothing else runs.
        """
        killed = sum(self.kills) * self.nodes + self.churn_per_minute * self.churn_seconds / 60
        lasting = self.calm_seconds + self.churn_seconds + self.partition_seconds
        return lasting + (self.rest_seconds + 10) * (self.faults + 1) + 2 * killed

    def manifest(self, name: str) -> Json:
        """The cluster under test."""
        increment, propagation = self.pace
        counter = {
            "ads": 1,
            "impressions": self.nodes * round(self.counting_seconds / increment),
            "incrementInterval": f"{increment}s",
            "propagationInterval": f"{propagation}s",
        }
        return manifest(
            name,
            self.nodes,
            workload={"adCounter": counter, "synchronization": self.synchronization},
            # Hundreds of nodes that mostly wait are to fit two processors.
            resources={"requests": {"cpu": "2m", "memory": "40Mi"}},
        )


@dataclass(kw_only=True)
class Runner:
    """Injects the faults of a scenario; `phases` has what became of each so far."""

    scenario: Scenario
    faults: Faults
    sampler: Sampler[Sample]
    say: Callable[[str], None]
    phases: list[Phase] = field(default_factory=list)

    def run(self) -> Sample:
        """Goes from the apply to the end of the count; returns the last sample.

        Raises StalledError: no recovery; FaultError, ApiError, ExpectedError: no fault.
        """
        scenario = self.scenario
        self.say(f"{scenario.nodes} nodes are to join and to count")
        self._wait(
            "nodes that count",
            lambda sample: sample.whole and all(n.phase == "running" for n in sample.nodes),
        )
        with self._phase("calm", "calm"):
            self.sampler.pause(scenario.calm_seconds)
        for share in scenario.kills:
            with self._phase(f"kill {share:.0%}", "kill") as phase:
                phase.victims.extend(self.faults.draw(share))
                self.faults.kill(tuple(phase.victims))
        with (
            self._phase("churn", "churn") as phase,
            self.faults.churn(scenario.churn_per_minute, phase.victims.append),
        ):
            self.sampler.pause(scenario.churn_seconds)
        if scenario.partition_seconds:
            with self._phase("partition", "partition") as phase, self.faults.partition() as sides:
                phase.sides = sides
                self.sampler.pause(scenario.partition_seconds)
        self.say("the counter is to reach its threshold")
        return self._wait(
            "end of the count",
            lambda sample: (
                sample.cluster.finished
                and len({n.digest for n in sample.nodes}) == 1
                and len(sample.nodes) == sample.cluster.replicas_wanted
            ),
            progress=lambda sample: (sample.values, sample.cluster.workload),
        )

    @contextmanager
    def _phase(self, name: str, kind: str) -> Iterator[Phase]:
        """A fault that lasts as long as the context; then waits until the cluster has recovered."""
        sampler = self.sampler
        if sampler.last.cluster.workload.phase != "Running":
            raise FaultError(
                f"the count was over before the {name}: this machine takes longer to bring"
                f" {self.scenario.nodes} nodes back than it was given. Choose fewer"
            )
        incarnations = {node.name: node.incarnation for node in sampler.last.nodes}
        phase = Phase(name=name, kind=kind, at=sampler.seconds, incarnations=incarnations)
        self.phases.append(phase)
        self.say(f"{name}, {phase.at:.0f} s after the apply")
        yield phase
        phase.until = sampler.seconds
        replaced = len({(p.at, v) for p in self.phases for v in p.victims})
        whole = self._wait(
            f"one component after {name}",
            lambda sample: sample.whole and sample.cluster.workload.replaced_nodes >= replaced,
        )
        phase.whole_at = whole.seconds
        phase.accounted_at = self._account(name, whole).seconds
        self.say(
            f"  one component {phase.whole_at - phase.until:.0f} s after its end, all counted "
            f"{phase.accounted_at - phase.until:.0f} s after; lost so far "
            f"{sampler.last.cluster.workload.lost_increments}"
        )
        sampler.pause(self.scenario.rest_seconds)

    def _account(self, name: str, whole: Sample) -> Sample:
        """Waits until all replicas hold what had been counted by then, and no more than there is.

        No two samples see the same count while nodes count, so the largest of the replicas is
        compared with what the nodes themselves have counted a moment later.
        """
        made = whole.cluster.workload.increments_sum
        held = self._wait(
            f"all counted after {name}",
            lambda sample: (
                sample.values[0] >= made - sample.cluster.workload.lost_increments
                and len(sample.nodes) == sample.cluster.replicas_wanted
            ),
        )
        return self._wait(
            f"nothing counted twice after {name}", lambda sample: sample.accounted >= held.values[1]
        )

    def _wait(
        self,
        what: str,
        done: Callable[[Sample], bool],
        progress: Callable[[Sample], Hashable] = lambda sample: sample.recovery,
    ) -> Sample:
        return self.sampler.wait(what, done, progress=progress)
