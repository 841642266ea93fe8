"""Three Kubernetes nodes in three zones: pods spread, a node fails, two are partitioned."""

from collections import Counter
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address
from typing import Any

import pytest

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment, bring_up_local
from scale_tests.cluster.kube import Cluster, Json, core
from scale_tests.cluster.partisan import CLUSTER_LABEL, ClusterStatus
from scale_tests.cluster.subject import LASTING, counter, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.outcomes import assert_accounted, wait_partitioned
from scale_tests.e2e.podnet import connect
from scale_tests.localkube import partition
from scale_tests.localkube.cluster import exclusive, stored
from scale_tests.localkube.nodes import ZONE_LABEL, named, nodes
from scale_tests.localkube.outage import outage
from scale_tests.localkube.settings import NODE_NAME, RESERVED, Settings

NODES = 9
MACHINES = nodes(Settings(nodes=3))
HOSTNAME = "kubernetes.io/hostname"


@pytest.fixture(scope="module", autouse=True)
def three_machines(environment: Environment) -> Iterator[None]:
    """From before the file's namespace is made until it is gone; other files keep to the first."""
    if not environment.local:
        pytest.skip("nodes are added to the local cluster, cut off, and fail")
    before = stored(Settings()).nodes
    if before > len(MACHINES):
        pytest.skip(f"the local cluster has {before} nodes, not {len(MACHINES)} or fewer")
    bring_up_local("--nodes", str(len(MACHINES)), "--reserved")
    yield
    bring_up_local("--nodes", str(before), "--no-reserved")


def test_a_cluster_is_spread_over_zones_and_its_nodes_know_theirs(new_subject: NewSubject) -> None:
    """With the default spread."""
    subject = new_subject("spread")
    subject.apply(_manifest("spread", NODES, overlay={"kind": "HiScamp"}))
    status = subject.wait_finished()
    zones = {machine.name: machine.zone for machine in MACHINES}
    pods = subject.pods()
    where = _machines(pods)
    assert set(where.values()) == zones.keys()
    for name, pod in pods.items():
        zone = subject.kubectl("exec", name, "--", "printenv", "K8S_ZONE").strip()
        assert zone == pod["metadata"]["labels"][ZONE_LABEL] == zones[where[name]]
    assert_accounted(subject, status)


def test_a_custom_spread_is_applied_and_pods_reach_services_from_every_machine(
    new_subject: NewSubject, cluster: Cluster
) -> None:
    subject = new_subject("evenly")
    spread = _evenly("evenly", ZONE_LABEL)
    subject.apply(_manifest("evenly", 6, workload=None, topologySpreadConstraints=spread))
    subject.wait_steady()
    pods = subject.pods()
    zones = Counter(pod["metadata"]["labels"][ZONE_LABEL] for pod in pods.values())
    assert zones == {machine.zone: 2 for machine in MACHINES}
    service = cluster.get(core(operator.NAMESPACE, "services", "partisan-operator-metrics"))
    for name, machine in _machines(pods).items():
        assert IPv4Address(pods[name]["status"]["podIP"]) in named(Settings(), machine).pods
        # One Service leads to the first machine itself, the other to a pod.
        connect(pods[name], str(Settings().service_network[1]), 443)
        connect(pods[name], service["spec"]["clusterIP"], service["spec"]["ports"][0]["port"])


def test_partitioned_machines_form_two_overlays_that_merge_again(
    new_subject: NewSubject,
) -> None:
    subject = new_subject("apart")
    _first, second, third = MACHINES
    spec = {
        "workload": {"adCounter": counter(8, LASTING)},
        # The first machine reaches both of the others: a node on it would hold them together.
        "affinity": _elsewhere_than(NODE_NAME),
        "topologySpreadConstraints": _evenly("apart", HOSTNAME),
    }
    subject.apply(_manifest("apart", 8, **spec))
    subject.wait_counted(8 * 5)
    before, where = subject.incarnations(), _machines(subject.pods())
    assert Counter(where.values()) == {second.name: 4, third.name: 4}
    with partition.cut([str(second.pods)], [str(third.pods)]):
        wait_partitioned(subject)
        wait_for(
            "no neighbour on the other machine",
            lambda: [(node.name, node.active) for node in subject.nodes()],
            lambda views: all({where[peer] for peer in view} <= {where[n]} for n, view in views),
        )
    subject.wait_healthy(8)
    status = subject.end_run()
    assert subject.incarnations() == before
    assert (status.workload.replaced_nodes, status.workload.lost_increments) == (0, 0)
    assert_accounted(subject, status)


def test_a_failed_machine_is_reported_and_loses_no_increment(new_subject: NewSubject) -> None:
    subject = new_subject("failing")
    spec = {
        "workload": {"adCounter": counter(NODES, LASTING)},
        "topologySpreadConstraints": _evenly("failing", HOSTNAME),
    }
    subject.apply(_manifest("failing", NODES, **spec))
    subject.wait_counted(NODES * 5)
    before, where = subject.incarnations(), _machines(subject.pods())
    failing = MACHINES[-1]
    gone = {name for name, machine in where.items() if machine == failing.name}
    left = NODES - len(gone)
    assert len(gone) == NODES // len(MACHINES)

    def counts_the_rest(status: ClusterStatus) -> bool:
        return (status.replicas, status.joined, status.components) == (NODES, left, 1)

    def names_the_gone(status: ClusterStatus) -> bool:
        found = status.degraded
        return found is not None and any(name in found.message for name in gone)

    # Another file may load an image meanwhile, which every machine has to take.
    with exclusive(), outage(failing):
        status = subject.wait("silent nodes reported", names_the_gone)
        assert not status.is_true("Ready")
        subject.wait("the rest by itself", counts_the_rest)
        subject.wait_counted(status.workload.value + left * 5)
        subject.wait("NotReady in Kubernetes", lambda s: s.ready == left)
        subject.wait_degraded(
            "MachineLost", f"its Kubernetes node {failing.name} sends no heartbeats"
        )
        subject.wait("the rest still by itself", counts_the_rest)
    subject.wait_healthy(NODES)
    status = subject.end_run()
    assert subject.incarnations() == before
    assert (status.workload.replaced_nodes, status.workload.lost_increments) == (0, 0)
    assert_accounted(subject, status)


def _machines(pods: Mapping[str, Json]) -> dict[str, str]:
    """The Kubernetes node of each pod."""
    return {name: pod["spec"]["nodeName"] for name, pod in pods.items()}


def _manifest(name: str, replicas: int, **spec: Any) -> Json:
    """A cluster whose pods run on every Kubernetes node."""
    return manifest(name, replicas, tolerations=[{"key": RESERVED, "operator": "Exists"}], **spec)


def _evenly(name: str, key: str) -> list[Json]:
    """A constraint that spreads a cluster's pods evenly over the values of a node label."""
    return [
        {
            "maxSkew": 1,
            "topologyKey": key,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {CLUSTER_LABEL: name}},
        }
    ]


def _elsewhere_than(machine: str) -> Json:
    expression = {"key": HOSTNAME, "operator": "NotIn", "values": [machine]}
    terms = [{"matchExpressions": [expression]}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    return {"nodeAffinity": required}
