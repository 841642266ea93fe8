"""`python -m scale_tests demo run|down`: a cluster from nothing to its end, and nothing again."""

from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime

import yaml
from rich.console import Console
from rich.live import Live

from scale_tests.benches.demo import programs, report
from scale_tests.benches.demo.live import View
from scale_tests.benches.demo.sample import Sample, sampling
from scale_tests.cluster import environment as environments
from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import ApiError, Cluster, Json, partisan_cluster
from scale_tests.cluster.monitoring import prometheus
from scale_tests.cluster.must_gather import explain
from scale_tests.cluster.removal import remove_cluster
from scale_tests.cluster.sampler import Sampler
from scale_tests.cluster.wait import StalledError
from scale_tests.host.commands import ROOT, relative
from scale_tests.host.documents import data_of
from scale_tests.measure.bench import Bench, Session, option

MANIFEST = ROOT / "examples" / "cluster.yaml"
NAMESPACE = "default"
"""The namespace of the demo's cluster, so that `kubectl get pcl` shows it without a flag."""

MUST_GATHER = ROOT / "build" / "must-gather" / "demo"

DEMO_LABEL = "partisan.dev/demo"
"""On the clusters that the demo made: `down` leaves others alone."""


def _run(session: Session) -> int:
    """Goes from nothing to a report on the cluster of `MANIFEST`; 1 when a target is missed.

    Raises CommandError, ExpectedError, ApiError: a step before the run failed.
    """
    console, manifest = session.console, yaml.safe_load(MANIFEST.read_text())
    _headline(console, "Kubernetes and images")
    environment = environments.bring_up()
    cluster = Cluster(environment.kubeconfig)
    _headline(console, f"Operator, on Kubernetes {cluster.version()}")
    operator.install(environment)
    _headline(console, "Prometheus")
    prometheus.install(environment)
    name = manifest["metadata"]["name"]
    _headline(console, f"kubectl apply -f {relative(MANIFEST)}")
    remove_cluster(cluster, NAMESPACE, name)
    session = replace(session, started=datetime.now(UTC))
    sampler = Sampler(sampling(cluster, NAMESPACE, name))
    operator.kubectl(environment, "apply", "-n", NAMESPACE, "-f", str(MANIFEST))
    operator.kubectl(environment, "label", "-n", NAMESPACE, f"pcl/{name}", f"{DEMO_LABEL}=true")
    live = Live(console=console, refresh_per_second=4) if console.is_terminal else None
    view = View(console, live)
    try:
        with live or nullcontext(), sampler:
            last = sampler.wait(
                "the run",
                lambda sample: sample.finished,
                progress=Sample.progress,
                seen=view.show,
            )
            view.show(last, last=True)
    except (StalledError, ApiError) as error:
        console.print(f"\n[bold red]The run did not finish: {error}[/bold red]", highlight=False)
        explain(console, cluster, NAMESPACE, name, MUST_GATHER)
    if not sampler.samples:
        return 1
    status = report.conclude(session, environment, cluster, manifest, sampler.samples)
    _show_next(console, environment, cluster, manifest)
    return status


def _down(console: Console) -> int:
    """Removes all that `_run` made, whatever of it is there. Raises CommandError, ApiError."""
    environment = environments.existing()
    if environment is None or environment.local:
        # The whole cluster goes, with all that is in it.
        environments.take_down()
        console.print("Removed.")
        return 0
    _headline(console, "Clusters, operator and CRD")
    cluster = Cluster(environment.kubeconfig)
    if cluster.find(operator.CRD):
        for item in cluster.list(partisan_cluster(NAMESPACE), f"{DEMO_LABEL}=true"):
            remove_cluster(cluster, NAMESPACE, item["metadata"]["name"])
    prometheus.uninstall(environment)
    left = operator.uninstall(environment)
    if left:
        console.print(f"The operator stays, for there are other clusters: {', '.join(left)}")
    else:
        console.print("Removed.")
    return 0


def _show_next(
    console: Console, environment: Environment, cluster: Cluster, manifest: Json
) -> None:
    """Prints what can be done with cluster and Prometheus next."""
    exports = [f"KUBECONFIG={environment.kubeconfig}"] if environment.local else []
    text = data_of(__file__)["next"].format(
        exports="\n  export ".join([*exports, f"PATH={programs.provide()}:$PATH"]),
        name=manifest["metadata"]["name"],
        more=manifest["spec"]["replicas"] + 8,
        namespace=NAMESPACE,
        prometheus=prometheus.address(environment, cluster),
    )
    console.print(text, end="", highlight=False, soft_wrap=True)


def _headline(console: Console, title: str) -> None:
    console.print(f"[bold]==> {title}[/bold]", highlight=False)


BENCH = Bench(
    name="demo",
    about=__doc__,
    measure=lambda session: (
        _down(session.console) if session.options.command == "down" else _run(session)
    ),
    options=(
        option(
            "command",
            choices=("run", "down"),
            help="bring everything up and follow a cluster to its end; or remove all of it",
        ),
        # A directory for each run, build/results/demo-DATE, where it is not given.
        lambda parser: parser.set_defaults(out=None),
    ),
    expected=(OSError, ValueError),
    interrupted=". What runs, runs on: `make down` removes it.",
)
