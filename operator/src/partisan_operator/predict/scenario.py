"""Which clusters are simulated to predict one.

A long run need not be simulated to its end: once all nodes have met, intervals are alike. A cluster
whose simulation would exceed the budget is predicted from two smaller ones, and the prediction
reports that. The cost of a simulation is computed from the configuration alone, so that the same
file gives the same prediction on every host.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

from partisan_operator.children.node_config import render_config
from partisan_operator.children.overlay import hubs
from partisan_operator.models import PartisanCluster
from partisan_operator.models.quantities import milliseconds
from partisan_operator.models.workload import AdCounter, Synchronization

WARM_INCREMENTS, WARM_PROPAGATIONS = 6, 12
"""Intervals of either kind after which all are alike."""

SMALLEST = 16
"""Size of the smallest cluster that predictions are based on."""

_PAIRWISE = {
    Synchronization.STATE: 30e-6,
    Synchronization.DELTA: 7e-6,
    Synchronization.TREE: 5e-6,
    Synchronization.AGGREGATE: 1e-6,
}
"""Approximate CPU seconds of one propagation interval for each pair of nodes: State and Delta
measured with 64 and 128 nodes on a core of 2.1 GHz."""

_EACH = 400e-6
"""CPU seconds of one propagation interval for each node, in addition."""

_SECOND_OF_OVERLAY = 200e-6
"""CPU seconds of one second of the overlay for each node."""


@dataclass(frozen=True, kw_only=True)
class Assumptions:
    """Parameters that are not in the manifest."""

    seed: int = 1
    """Equal seeds give equal predictions."""

    latency_ms: tuple[int, int] = (1, 2)
    """Between two nodes, one way; random within the range."""

    pods_per_second: float = 10.0
    """Rate at which pods start, one after the other: the speed of Kubernetes and its nodes."""

    zones: int = 1
    """Number of zones that the pods are spread over; for HiScamp."""

    def arguments(self) -> dict[str, int]:
        """Return the simulator's arguments."""
        least, most = self.latency_ms
        return {
            "seed": self.seed,
            "latency_least_ms": least,
            "latency_most_ms": most,
            "boot_gap_us": round(1e6 / self.pods_per_second),
            "zones": self.zones,
        }


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One cluster to be simulated."""

    cluster: PartisanCluster
    warm_seconds: float = 0.0
    """From the start of the run; 0 where the run is simulated to its end."""

    missing_seconds: float = 0.0
    """Counting that is not simulated, in seconds."""

    @property
    def nodes(self) -> int:
        """The size of the cluster."""
        return self.cluster.spec.replicas

    @property
    def config(self) -> str:
        """The `node.config` that its pods would read."""
        return render_config(self.cluster)

    def arguments(self, assumptions: Assumptions) -> dict[str, int]:
        """Return the simulator's arguments, next to the configuration."""
        return assumptions.arguments() | {"warm_ms": round(1000 * self.warm_seconds)}


@dataclass(frozen=True, kw_only=True)
class Course:
    """The simulations for a prediction: the cluster, or smaller ones and its overlay."""

    overlay: Scenario | None
    """The cluster without its workload, if the runs are of smaller ones."""

    runs: tuple[Scenario, ...]
    """One run of the cluster itself, or two of smaller ones, the smallest first."""


def course(cluster: PartisanCluster, assumptions: Assumptions, *, budget: float) -> Course:
    """Return the simulations for a cluster that fit in about `budget` CPU seconds."""
    counter = counter_of(cluster)
    if counter is None:
        return Course(overlay=None, runs=(Scenario(cluster=cluster),))
    whole = Scenario(cluster=cluster)
    if _cost(whole, assumptions) <= budget:
        return Course(overlay=None, runs=(whole,))
    short = _shortened(whole)
    if _cost(short, assumptions) <= budget:
        return Course(overlay=None, runs=(short,))
    pairs = [
        (_shortened(_scaled(whole, nodes // 2)), _shortened(_scaled(whole, nodes)))
        for nodes in _halves(cluster)
    ]
    if not pairs:
        return Course(overlay=None, runs=(short,))
    cheap = [pair for pair in pairs if sum(_cost(each, assumptions) for each in pair) <= budget]
    alone = cluster.spec.model_copy(update={"workload": None})
    return Course(
        overlay=Scenario(cluster=replace(cluster, spec=alone)), runs=(cheap or pairs[-1:])[0]
    )


def counter_of(cluster: PartisanCluster) -> AdCounter | None:
    """Return the ad counter that a cluster runs, if it runs one."""
    return cluster.spec.workload.ad_counter if cluster.spec.workload else None


def counting_seconds(cluster: PartisanCluster) -> float:
    """Return how long each node counts, by its interval: 0 without a workload."""
    counter = counter_of(cluster)
    if counter is None:
        return 0.0
    increments = counter.ads * counter.impressions / cluster.spec.replicas
    return increments * milliseconds(counter.increment_interval) / 1000


def _halves(cluster: PartisanCluster) -> Iterator[int]:
    """Yield sizes of smaller clusters of the same kind, powers of two, the largest first.

    There are none for a cluster with an explicit list of edges.
    """
    overlay = cluster.spec.overlay
    if overlay.static is not None and overlay.static.edges is not None:
        return
    servers = hubs(cluster) or 1
    size = 1 << (cluster.spec.replicas - 1).bit_length() - 1
    while size // 2 >= max(SMALLEST, 2 * servers):
        yield size
        size //= 2


def _scaled(scenario: Scenario, nodes: int) -> Scenario:
    """Return the cluster with fewer nodes, each of which counts as often as before."""
    cluster, before = scenario.cluster, scenario.nodes
    counter = counter_of(cluster)
    assert counter is not None
    return _with_impressions(
        replace(
            scenario,
            cluster=replace(cluster, spec=cluster.spec.model_copy(update={"replicas": nodes})),
        ),
        counter.impressions * nodes / before,
    )


def _shortened(scenario: Scenario) -> Scenario:
    """Return the cluster with a run of twice the warm-up, unless its own is shorter."""
    counter = counter_of(scenario.cluster)
    assert counter is not None
    warm = max(
        WARM_INCREMENTS * milliseconds(counter.increment_interval),
        WARM_PROPAGATIONS * milliseconds(counter.propagation_interval),
    )
    part = 2 * warm / 1000 / counting_seconds(scenario.cluster)
    if part >= 1:
        return scenario
    short = _with_impressions(scenario, counter.impressions * part)
    missing = counting_seconds(scenario.cluster) - counting_seconds(short.cluster)
    return replace(short, warm_seconds=warm / 1000, missing_seconds=missing)


def _with_impressions(scenario: Scenario, impressions: float) -> Scenario:
    cluster = scenario.cluster
    counter = counter_of(cluster)
    assert counter is not None
    assert cluster.spec.workload is not None
    changed = counter.model_copy(update={"impressions": max(1, ceil(impressions))})
    workload = cluster.spec.workload.model_copy(update={"ad_counter": changed})
    spec = cluster.spec.model_copy(update={"workload": workload})
    return replace(scenario, cluster=replace(cluster, spec=spec))


def _cost(scenario: Scenario, assumptions: Assumptions) -> float:
    """Return the approximate CPU seconds of a simulation."""
    counter, workload = counter_of(scenario.cluster), scenario.cluster.spec.workload
    assert counter is not None
    assert workload is not None
    forming = scenario.nodes / assumptions.pods_per_second
    seconds = forming + counting_seconds(scenario.cluster)
    intervals = 1000 * seconds / milliseconds(counter.propagation_interval)
    pairs = _PAIRWISE[workload.mode] * scenario.nodes**2
    return (
        intervals * (pairs + _EACH * scenario.nodes) + seconds * _SECOND_OF_OVERLAY * scenario.nodes
    )
