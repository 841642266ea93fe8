"""The steps of a staging run, whose results are in Prometheus."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path

from scale_tests.benches.dashboards import watched
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, Json, core
from scale_tests.cluster.monitoring.cardinality import NodeSeries, node_series
from scale_tests.cluster.monitoring.prometheus import Prometheus
from scale_tests.cluster.removal import remove_namespace, renew_namespace
from scale_tests.cluster.sealing import sealed, secret
from scale_tests.cluster.subject import Subject, counter, kill_pod, manifest
from scale_tests.localkube.certificates import issue_authority

IMPRESSIONS = 20
"""Of each node, one a second: so long does a run count."""

OVERLAYS = ("HyParView", "FullMesh")
COMPARED = ".+-[0-9]+"
"""The names of the clusters of the comparison, as a regular expression."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The sizes of a staging run."""

    sizes: tuple[int, ...]
    """In nodes; there is a cluster of each for each of `OVERLAYS`, one after the other."""

    faulty_nodes: int
    """Nodes of the cluster in which things go wrong."""

    killed: int
    """How many of them are killed at once, in the middle of its run."""


FULL = Plan(sizes=(4, 8, 16, 32), faulty_nodes=32, killed=4)
QUICK = Plan(sizes=(4, 8), faulty_nodes=8, killed=1)


def compared(overlay: str, nodes: int) -> Json:
    """A cluster of the comparison."""
    return manifest(
        f"{overlay.lower()}-{nodes}",
        nodes,
        overlay={"kind": overlay},
        workload={"adCounter": counter(nodes, IMPRESSIONS)},
    )


NAMESPACE = "partisan-staging"
CHAIN_NAMESPACE = "partisan-staging-chain"
"""Of its own, for the quota that holds its fault."""

FAULTY = "ads"
CHAIN = "chain"

CHAIN_ALERTS = ("PartisanFixedOverlayPartitioned", "PartisanNodesIsolated")
"""Alerts that must fire while the chain is partitioned, in this order."""


@dataclass
class Stage:
    """A cluster with operator and Prometheus, and the observations of the run so far."""

    environment: Environment
    cluster: Cluster
    prometheus: Prometheus
    say: Callable[[str], None]
    started: float = 0.0
    """Seconds since 1970, as are all times."""

    compared: float = 0.0
    """When the last cluster of the comparison had ended its run."""

    series: dict[str, NodeSeries] = field(default_factory=dict)
    """Of a node of each cluster, by the cluster's name."""

    page: str = ""
    """The page `/metrics` of a node of the cluster with faults in the end."""

    def subject(self, name: str, namespace: str = NAMESPACE) -> Subject:
        """A cluster that may not exist yet."""
        return Subject(self.environment, self.cluster, namespace, name)

    def remove(self) -> None:
        """Removes all that was made, but what Prometheus knows. Raises ApiError, StalledError."""
        for namespace in (NAMESPACE, CHAIN_NAMESPACE):
            remove_namespace(self.cluster, namespace)


def perform(stage: Stage, plan: Plan) -> None:
    """All of a staging run, in new namespaces. Raises ApiError, StalledError."""
    for namespace in (NAMESPACE, CHAIN_NAMESPACE):
        renew_namespace(stage.cluster, namespace)
    stage.started = time.time()
    watched.wait_operator_scraped(stage.prometheus)
    compare(stage, plan)
    broken = stage.subject(CHAIN, CHAIN_NAMESPACE)
    broken.apply(watched.chain(CHAIN)).wait_steady()
    watched.wait_scraped(stage.prometheus, broken, "sum(up{%s})", broken.status().replicas_wanted)
    stage.say(f"{CHAIN}: the node in the middle is kept away")
    with watched.kept_away(broken, f"{CHAIN}-1"):
        inject_faults(stage, plan)
        for alert in CHAIN_ALERTS:
            stage.say(f"{CHAIN}: waiting until {alert} fires")
            watched.wait_firing(stage.prometheus, broken, alert)
    stage.say(f"{CHAIN}: the node may come back")
    broken.wait_steady()
    watched.wait_quiet(stage.prometheus, broken, *CHAIN_ALERTS)


def compare(stage: Stage, plan: Plan) -> None:
    """Lets clusters form and count, one after the other. Raises ApiError, StalledError."""
    for overlay, nodes in product(OVERLAYS, plan.sizes):
        body = compared(overlay, nodes)
        subject = stage.subject(body["metadata"]["name"])
        stage.say(f"{overlay} with {nodes} nodes")
        _run(stage, subject, body, nodes)
        stage.compared = time.time()
        subject.delete()


def inject_faults(stage: Stage, plan: Plan) -> None:
    """A run with TLS in which nodes are killed, and an unauthenticated peer is refused.

    Raises ApiError, StalledError.
    """
    subject, nodes = stage.subject(FAULTY), plan.faulty_nodes
    with tempfile.TemporaryDirectory() as directory:
        issue_authority(Path(directory))
        stage.cluster.create(core(subject.namespace, "secrets"), secret(subject, Path(directory)))
    body = sealed(subject, nodes)
    body["spec"]["workload"] = {"adCounter": counter(nodes, 3 * IMPRESSIONS)}
    stage.say(f"{FAULTY}: {nodes} nodes with TLS")

    def strike() -> None:
        subject.wait_counted(nodes * IMPRESSIONS)
        watched.wait_scraped(stage.prometheus, subject, "sum(up{%s})", nodes)
        victims = [f"{FAULTY}-{ordinal * nodes // plan.killed}" for ordinal in range(plan.killed)]
        stage.say(f"{FAULTY}: an unauthenticated peer connects, {', '.join(victims)} are killed")
        watched.connect_unauthenticated(subject, f"{FAULTY}-{nodes - 1}")
        for victim in victims:
            kill_pod(subject, victim)

    _run(stage, subject, body, nodes, strike)
    stage.page = subject.metrics(f"{FAULTY}-{nodes - 1}")


def _run(
    stage: Stage,
    subject: Subject,
    body: Json,
    nodes: int,
    meanwhile: Callable[[], None] = lambda: None,
) -> None:
    subject.apply(body)
    meanwhile()
    subject.wait_finished()
    watched.wait_run_scraped(stage.prometheus, subject, nodes)
    stage.series[subject.name] = node_series(subject.metrics(f"{subject.name}-0"))
