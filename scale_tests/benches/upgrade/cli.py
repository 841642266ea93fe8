"""`python -m scale_tests upgrade REVISION [--nodes N]`: upgrades a running cluster from REVISION.

The operator of this checkout is left on the cluster. Ends with 1 when a target is missed.
"""

from scale_tests.benches.upgrade import earlier, report, rolling
from scale_tests.cluster import crd, operator
from scale_tests.cluster import environment as environments
from scale_tests.cluster.kube import ApiError, Cluster
from scale_tests.cluster.must_gather import must_gather
from scale_tests.cluster.removal import create_namespace, remove_namespace
from scale_tests.cluster.subject import Subject
from scale_tests.cluster.wait import StalledError
from scale_tests.host.commands import CommandError, relative
from scale_tests.measure import versions
from scale_tests.measure.bench import Bench, Session, nodes_from, option
from scale_tests.measure.document import RESULTS

NAMESPACE = "upgrade"


OPTIONS = (
    option("revision", help="what is upgraded from, as git names it"),
    option(
        "--nodes",
        type=nodes_from(1, crd.largest()),
        default=16,
        help="how many (default: %(default)s)",
    ),
)


def _measure(session: Session) -> int:
    revision, nodes = session.options.revision, session.options.nodes
    environment = environments.bring_up()
    cluster = Cluster(environment.kubeconfig)
    old, chart = earlier.prepare(environment, revision)
    operator.uninstall_release(environment)
    if cluster.find(operator.CRD) is not None:
        remove_namespace(cluster, NAMESPACE)
    create_namespace(cluster, NAMESPACE)
    subject = Subject(environment, cluster, NAMESPACE, "upgraded")
    try:
        cells = rolling.upgrade(subject, old, chart, nodes, session.say)
    except (ApiError, CommandError, StalledError):
        kept = must_gather(cluster, NAMESPACE, RESULTS.parent / "must-gather" / NAMESPACE)
        session.say(f"The state of the cluster is in {relative(kept)}")
        raise
    status = session.conclude(
        cells,
        versions=versions.of_cluster(cluster, subject.nodes()),
        config={"from": revision, "nodes": nodes},
    )
    remove_namespace(cluster, NAMESPACE)
    return status


BENCH = Bench(name="upgrade", about=__doc__, measure=_measure, report=report, options=OPTIONS)
