"""`python -m scale_tests joining`: measures the start of a cluster, and its use at rest.

Prints a table, writes build/results/bench.json and a page; ends with 1 when a target is missed.
`QUICK=1` takes fewer repetitions and says so in the result.
"""

import json
import time
from pathlib import Path

import yaml

from scale_tests.benches.joining import report
from scale_tests.cluster import operator
from scale_tests.cluster.kube import ApiError, Cluster, Json, core, manifest
from scale_tests.cluster.local_nodes import footprints
from scale_tests.cluster.monitoring.exposition import READS, Page
from scale_tests.cluster.nodes import read_node
from scale_tests.cluster.removal import remove_cluster, start_over
from scale_tests.cluster.subject import Subject
from scale_tests.cluster.wait import wait_for
from scale_tests.host import procfs
from scale_tests.host.templates import filled
from scale_tests.measure import versions
from scale_tests.measure.bench import Bench, Cell, Session

NAMESPACE, CLUSTER, BASELINE = "partisan-bench", "bench", "baseline"
NODES = 32

_AT_REST = 0.2
"""The share of busy processors of a machine at rest: Kubernetes itself uses a tenth of two."""


def _measure(session: Session) -> int:
    environment = operator.ready_cluster()
    cluster = Cluster(environment.kubeconfig)
    subject = Subject(environment, cluster, NAMESPACE, CLUSTER)
    start_over(cluster, NAMESPACE, CLUSTER)
    cells: list[Cell] = []
    repetitions = 1 if session.quick else 5
    for repetition in range(repetitions):
        session.say(f"start of {NODES} pods, {repetition + 1} of {repetitions}")
        bare = baseline_seconds(subject)
        ours = cluster_seconds(subject)
        cells.append({"figure": "start", "baseline_seconds": bare, "cluster_seconds": ours})
        if repetition + 1 < repetitions:
            remove_cluster(cluster, NAMESPACE, CLUSTER)
    nodes = footprints(NAMESPACE) if environment.local else []
    cells += [{"figure": "footprint", **vars(node)} for node in nodes]
    session.say("operator at rest")
    settle(subject)
    rest = overhead(cluster, 30.0 if session.quick else 120.0)
    cells.append({"figure": "operator_at_rest", **rest})
    for repetition in range(repetitions):
        session.say(f"boot to joined, {repetition + 1} of {repetitions}")
        cells.append({"figure": "boot_to_joined", "seconds": boot_to_joined(subject)})
    status = session.conclude(
        cells,
        versions=versions.of_cluster(cluster, subject.nodes()),
        config={"nodes": NODES, "repetitions": repetitions},
    )
    remove_cluster(cluster, NAMESPACE, CLUSTER)
    return status


def settle(subject: Subject) -> None:
    """Waits until this machine is at rest: pods leave the API server before they have ended."""
    if subject.environment.local:
        wait_for(
            "the machine to be at rest",
            lambda: procfs.busy_share(1.0),
            lambda busy: busy < _AT_REST,
            progress=lambda busy: f"{busy:.0%} of its processors busy",
        )


def baseline_seconds(subject: Subject) -> float:
    """From applying a StatefulSet of bare Erlang VMs to all of its pods running."""
    cluster, image = subject.cluster, subject.environment.node_image
    documents = yaml.safe_load_all(Path(__file__).with_name("baseline.yaml").read_text())
    items = filled(list(documents), nodes=NODES, image=image)
    settle(subject)
    started = time.monotonic()
    _apply(subject, {"apiVersion": "v1", "kind": "List", "items": items})
    path = f"apis/apps/v1/namespaces/{subject.namespace}/statefulsets/{BASELINE}"
    wait_for(
        f"{NODES} bare pods",
        lambda: cluster.get(path).get("status", {}).get("readyReplicas", 0),
        lambda ready: ready == NODES,
        period_seconds=0.2,
    )
    elapsed = time.monotonic() - started
    subject.kubectl("delete", "statefulset,configmap,secret", BASELINE)
    wait_for(
        "the bare pods to be gone",
        lambda: len(cluster.list(core(subject.namespace, "pods"), f"app={BASELINE}")),
        lambda left: left == 0,
    )
    return elapsed


def cluster_seconds(subject: Subject) -> float:
    """From applying a PartisanCluster to all of its nodes ready and joined, as its status says."""
    settle(subject)
    started = time.monotonic()
    # A HyParView cluster without a workload.
    _apply(subject, manifest(subject.name, replicas=NODES, overlay={"kind": "HyParView"}))
    wait_for(
        f"{NODES} nodes in one overlay",
        subject.status,
        lambda status: status.steady,
        progress=lambda status: (status.replicas, status.ready, status.joined),
        period_seconds=0.2,
    )
    return time.monotonic() - started


def overhead(cluster: Cluster, seconds: float) -> Cell:
    """The operator's requests to the API server while nothing happens, counted for a while."""
    before, started = _calls(cluster), time.monotonic()
    time.sleep(seconds)
    after, elapsed = _calls(cluster), time.monotonic() - started
    grown = {verb: count - before.get(verb, 0) for verb, count in after.items()}
    reads = int(sum(count for verb, count in grown.items() if verb in READS))
    return {"seconds": elapsed, "reads": reads, "writes": int(sum(grown.values())) - reads}


def boot_to_joined(subject: Subject) -> float:
    """Replaces one node; returns the time from its successor's boot until it has joined.

    The node's incarnation is the time of its boot by the same clock.
    """
    cluster, pod = subject.cluster, f"{subject.name}-{NODES - 1}"
    previous = read_node(cluster, subject.namespace, pod).incarnation
    subject.kubectl("delete", "pod", pod, "--wait=false")

    def boot() -> int:
        try:
            node = read_node(cluster, subject.namespace, pod)
        except ApiError:
            return 0
        return node.incarnation if node.joined and node.incarnation != previous else 0

    booted = wait_for(f"the successor of {pod}", boot, bool, period_seconds=0.02)
    joined = time.time() - booted / 1e6
    subject.wait_steady()
    return joined


def _apply(subject: Subject, body: Json) -> None:
    subject.kubectl("apply", "-f", "-", stdin=json.dumps(body))


def _calls(cluster: Cluster) -> dict[str, float]:
    return Page.parse(operator.metrics(cluster)).calls()


BENCH = Bench(name="joining", document="bench", about=__doc__, measure=_measure, report=report)
