"""`python -m scale_tests dashboards [DIRECTORY]`: a staging run, and whether one can see it.

Every query of every dashboard has to return data of it, every alert has to be evaluated, and those
that a lasting fault calls for have to fire and to end. Draws the dashboards into
build/results/staging, their main panels into DIRECTORY, and writes build/results/staging.json.
`QUICK=1` takes fewer and smaller clusters.
`--of NAMESPACE/CLUSTER` draws the last ten minutes of a cluster that is there instead.
"""

import time
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path

from charts.tools.dashboards.files import committed
from scale_tests.benches.dashboards import run
from scale_tests.benches.dashboards.findings import findings, ranges
from scale_tests.benches.dashboards.pictures import MAIN, Range, draw
from scale_tests.cluster import environment as environments
from scale_tests.cluster import operator
from scale_tests.cluster.kube import Cluster
from scale_tests.cluster.monitoring import prometheus
from scale_tests.cluster.monitoring.prometheus import Prometheus
from scale_tests.cluster.nodes import read_nodes
from scale_tests.host.commands import ExpectedError
from scale_tests.measure import versions
from scale_tests.measure.bench import Bench, Session, option
from scale_tests.measure.document import RESULTS

RECENT_SECONDS = 600.0


def _run(session: Session) -> int:
    if session.options.of:
        return _draw_one(session, *session.options.of)
    environment = operator.ready_cluster()
    cluster = Cluster(environment.kubeconfig)
    stage = run.Stage(
        environment=environment,
        cluster=cluster,
        prometheus=prometheus.install(environment),
        say=lambda text: session.say(f"{time.strftime('%H:%M:%S')}  {text}"),
    )
    run.perform(stage, run.QUICK if session.quick else run.FULL)
    stage.say("asking Prometheus")
    found = findings(stage)
    _draw(session, ranges(stage, found.end))
    nodes = read_nodes(cluster, run.NAMESPACE, [f"{run.FAULTY}-0"])
    status = session.reported(found).conclude(
        found.cells(), versions=versions.of_cluster(cluster, nodes), local_cluster=environment.local
    )
    stage.remove()
    return status


def _cluster(text: str) -> tuple[str, str]:
    """A cluster's namespace and name. Raises ArgumentTypeError."""
    namespace, _, name = text.partition("/")
    if not namespace or not name:
        raise ArgumentTypeError(f"{text!r} is not NAMESPACE/CLUSTER")
    return namespace, name


def _draw_one(session: Session, namespace: str, name: str) -> int:
    """Draws the last minutes of one cluster."""
    environment = environments.existing()
    if environment is None:
        raise ExpectedError("there is no cluster: make demo")
    end = time.time()
    shown = Range(
        prometheus=Prometheus(Cluster(environment.kubeconfig)),
        namespace=namespace,
        cluster=name,
        start=end - RECENT_SECONDS,
        end=end,
    )
    _draw(session, lambda _title: shown)
    return 0


def _draw(session: Session, shown: Callable[[str], Range]) -> None:
    """Draws each dashboard with the range that it shows, by its title."""
    for name, dashboard in committed().items():
        of = shown(dashboard["title"])
        file, subtitle = f"dashboard-{name}", f"{of.namespace}  {of.cluster}"
        drawn = draw(dashboard, of.ask, RESULTS / "staging", subtitle, file)
        if directory := session.options.directory:
            drawn += draw(dashboard, of.ask, directory, subtitle, file, MAIN[name])
        for path in drawn:
            session.say(str(path))


BENCH = Bench(
    name="dashboards",
    document="staging",
    about=__doc__,
    measure=_run,
    options=(
        option("directory", type=Path, nargs="?"),
        option("--of", type=_cluster, metavar="NAMESPACE/CLUSTER", help="draw this cluster alone"),
    ),
    expected=(ConnectionError,),
    interrupted=f". Its clusters are in the namespaces {run.NAMESPACE} and {run.CHAIN_NAMESPACE}.",
)
