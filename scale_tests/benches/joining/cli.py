"""`python -m scale_tests joining`: measures the start of a cluster, and its use at rest.

Prints a table, writes build/results/bench.json and a page; ends with 1 when a target is missed.
`QUICK=1` takes fewer repetitions and says so in the result.
"""

from scale_tests.benches.joining import measure, report
from scale_tests.cluster import operator
from scale_tests.cluster.kube import Cluster
from scale_tests.cluster.local_nodes import footprints
from scale_tests.cluster.removal import remove_cluster, start_over
from scale_tests.cluster.subject import Subject
from scale_tests.measure import versions
from scale_tests.measure.bench import Bench, Cell, Session

NAMESPACE, CLUSTER = "partisan-bench", "bench"


def _measure(session: Session) -> int:
    environment = operator.ready_cluster()
    cluster = Cluster(environment.kubeconfig)
    subject = Subject(environment, cluster, NAMESPACE, CLUSTER)
    start_over(cluster, NAMESPACE, CLUSTER)
    cells: list[Cell] = []
    repetitions = 1 if session.quick else 5
    for repetition in range(repetitions):
        session.say(f"start of {measure.NODES} pods, {repetition + 1} of {repetitions}")
        bare = measure.baseline_seconds(subject)
        ours = measure.cluster_seconds(subject)
        cells.append({"figure": "start", "baseline_seconds": bare, "cluster_seconds": ours})
        if repetition + 1 < repetitions:
            remove_cluster(cluster, NAMESPACE, CLUSTER)
    nodes = footprints(NAMESPACE) if environment.local else []
    cells += [{"figure": "footprint", **vars(node)} for node in nodes]
    session.say("operator at rest")
    measure.settle(environment)
    rest = measure.overhead(cluster, 30.0 if session.quick else 120.0)
    cells.append({"figure": "operator_at_rest", **rest})
    for repetition in range(repetitions):
        session.say(f"boot to joined, {repetition + 1} of {repetitions}")
        cells.append({"figure": "boot_to_joined", "seconds": measure.boot_to_joined(subject)})
    status = session.conclude(
        cells,
        versions=versions.of_cluster(cluster, subject.nodes()),
        config={"nodes": measure.NODES, "repetitions": repetitions},
    )
    remove_cluster(cluster, NAMESPACE, CLUSTER)
    return status


BENCH = Bench(name="joining", document="bench", about=__doc__, measure=_measure, report=report)
