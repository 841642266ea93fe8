"""The faults, one after the other, on a cluster that counts meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from scale_tests.benches.churn.faults import FaultError, Faults
from scale_tests.benches.churn.recorder import Recorder
from scale_tests.benches.churn.timeline import Phase, Sample
from scale_tests.cluster.kube import Json

PUBLISHED_FROM = 128
"""Nodes from which on they count at the published pace. Few may be quicker, so that more is counted
while a fault lasts; with many, two processors would have no time left for making pods anew."""


@dataclass(frozen=True, kw_only=True)
class Programme:
    """What is done, and for how long; times are in seconds."""

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
    """How long the network is cut; 0: not at all."""
    calm_seconds: float = 20.0
    """How long nothing is done at first, for the traffic to be compared with."""
    rest_seconds: float = 10.0
    """How long nothing is done after each fault, so that none begins in what another has left."""

    @property
    def increment_seconds(self) -> int:
        """How often each node counts."""
        return 10 if self.nodes >= PUBLISHED_FROM else 2

    @property
    def propagation_seconds(self) -> int:
        """How often it tells its neighbours."""
        return 5 if self.nodes >= PUBLISHED_FROM else 1

    @property
    def churn_per_minute(self) -> float:
        """Nodes killed per minute while the churn lasts."""
        return max(self.churn_share_per_minute * self.nodes, self.churn_at_least)

    @property
    def faults(self) -> int:
        """How many faults are done."""
        return len(self.kills) + 1 + bool(self.partition_seconds)

    @property
    def counting_seconds(self) -> float:
        """How long the counter has to count to be at it until the last fault is over.

        Besides the faults' own time, what it takes until all pods are there again and joined: two
        seconds for each of those killed, twice what two processors need when nothing else runs.
        """
        killed = sum(self.kills) * self.nodes + self.churn_per_minute * self.churn_seconds / 60
        lasting = self.calm_seconds + self.churn_seconds + self.partition_seconds
        return lasting + (self.rest_seconds + 10) * (self.faults + 1) + 2 * killed

    def manifest(self, name: str) -> Json:
        """The cluster that it is done to."""
        increments = round(self.counting_seconds / self.increment_seconds)
        return {
            "apiVersion": "partisan.dev/v1alpha1",
            "kind": "PartisanCluster",
            "metadata": {"name": name},
            "spec": {
                "replicas": self.nodes,
                "overlay": {"kind": "HyParView"},
                "workload": {
                    "adCounter": {
                        "ads": 1,
                        "impressions": self.nodes * increments,
                        "incrementInterval": f"{self.increment_seconds}s",
                        "propagationInterval": f"{self.propagation_seconds}s",
                    },
                    "synchronization": self.synchronization,
                },
                # Hundreds of nodes that mostly wait are to fit two processors.
                "resources": {"requests": {"cpu": "2m", "memory": "40Mi"}},
            },
        }


class Conductor:
    """Does the faults of a programme; `phases` has what became of each so far."""

    def __init__(
        self, programme: Programme, faults: Faults, recorder: Recorder, say: Callable[[str], None]
    ) -> None:
        self.phases: list[Phase] = []
        self._programme = programme
        self._faults = faults
        self._recorder = recorder
        self._say = say

    def run(self) -> Sample:
        """Goes from the apply to the end of the count; returns the last sample.

        Raises:
            StalledError: the cluster does not recover from a fault; what was seen so far is kept.
            FaultError, ApiError, LocalkubeError: a fault cannot be done.
        """
        programme = self._programme
        self._say(f"{programme.nodes} nodes are to join and to count")
        self._recorder.wait(
            "nodes that count",
            lambda sample: sample.whole and all(n.phase == "running" for n in sample.nodes),
        )
        self._calm()
        for share in programme.kills:
            self._kill(share)
        self._churn()
        if programme.partition_seconds:
            self._partition()
        return self._finish()

    def _calm(self) -> None:
        with self._phase("calm", "calm"):
            self._recorder.pause(self._programme.calm_seconds)

    def _kill(self, share: float) -> None:
        with self._phase(f"kill {share:.0%}", "kill") as phase:
            phase.victims.extend(self._faults.draw(share))
            self._faults.kill(tuple(phase.victims))

    def _churn(self) -> None:
        per_minute = self._programme.churn_per_minute
        with (
            self._phase("churn", "churn") as phase,
            self._faults.churn(per_minute, phase.victims.append),
        ):
            self._recorder.pause(self._programme.churn_seconds)

    def _partition(self) -> None:
        with self._phase("partition", "partition") as phase, self._faults.partition() as sides:
            phase.sides = sides
            self._recorder.pause(self._programme.partition_seconds)

    @contextmanager
    def _phase(self, name: str, kind: str) -> Iterator[Phase]:
        """A fault, done within the context; on the way out it is waited for its end."""
        recorder = self._recorder
        if recorder.last.cluster.workload.phase != "Running":
            raise FaultError(
                f"the count was over before the {name}: this machine takes longer to bring"
                f" {self._programme.nodes} nodes back than it was given. Choose fewer"
            )
        lives = {node.name: node.incarnation for node in recorder.last.nodes}
        phase = Phase(name=name, kind=kind, at=recorder.seconds, lives=lives)
        self.phases.append(phase)
        self._say(f"{name}, {phase.at:.0f} s after the apply")
        yield phase
        phase.until = recorder.seconds
        replaced = len({(p.at, v) for p in self.phases for v in p.victims})
        whole = recorder.wait(
            f"one component after {name}",
            lambda sample: sample.whole and sample.cluster.workload.replaced_nodes >= replaced,
        )
        phase.whole_at = whole.seconds
        phase.accounted_at = self._account(name, whole).seconds
        self._say(
            f"  one component {phase.whole_at - phase.until:.0f} s after its end, all counted "
            f"{phase.accounted_at - phase.until:.0f} s after; lost so far "
            f"{self._recorder.last.cluster.workload.lost_increments}"
        )
        recorder.pause(self._programme.rest_seconds)

    def _account(self, name: str, whole: Sample) -> Sample:
        """Waits until all replicas hold what had been counted by then, and no more than there is.

        While everybody counts no two looks see the same count, so that the largest of the replicas
        is held against what the nodes themselves have counted a moment later.
        """
        made = whole.cluster.workload.increments_sum
        held = self._recorder.wait(
            f"all counted after {name}",
            lambda sample: (
                sample.values[0] >= made - sample.cluster.workload.lost_increments
                and len(sample.nodes) == sample.cluster.replicas_wanted
            ),
        )
        return self._recorder.wait(
            f"nothing counted twice after {name}",
            lambda sample: sample.accounted >= held.values[1],
        )

    def _finish(self) -> Sample:
        self._say("the counter is to reach its threshold")
        return self._recorder.wait(
            "end of the count",
            lambda sample: (
                sample.cluster.finished
                and len({n.digest for n in sample.nodes}) == 1
                and len(sample.nodes) == sample.cluster.replicas_wanted
            ),
            progress=lambda sample: (sample.values, sample.cluster.workload),
        )
