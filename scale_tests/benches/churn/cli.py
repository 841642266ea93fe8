"""`python -m scale_tests churn [run] --nodes N`: faults done to a cluster that counts.

Applies a PartisanCluster, kills a tenth, a third and half of its nodes at once, churns it, cuts its
network in two, and waits after each for one component and an exact account. Prints a table, writes
JSON, pictures and a page into the directory of `--out` (build/results/churn); ends with 1 when a
bar is missed. `QUICK=1`: 16 nodes and shorter faults. `python -m scale_tests churn heal` removes
what a killed run has left in this machine's packet filter.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from scale_tests.benches.churn import report, result
from scale_tests.benches.churn.faults import FaultError, Faults
from scale_tests.benches.churn.programme import Conductor, Programme
from scale_tests.benches.churn.recorder import Recorder
from scale_tests.benches.churn.timeline import Sample
from scale_tests.cluster import environment as environments
from scale_tests.cluster import operator
from scale_tests.cluster.capacity import capacity
from scale_tests.cluster.diagnosis import explain
from scale_tests.cluster.environment import ConfigurationError, Environment
from scale_tests.cluster.kube import ApiError, Cluster, partisan_cluster
from scale_tests.cluster.removal import remove_cluster
from scale_tests.cluster.wait import StalledError
from scale_tests.host.commands import ROOT, CommandError, relative
from scale_tests.localkube import partition
from scale_tests.localkube.errors import LocalkubeError
from scale_tests.measure import terminal, versions
from scale_tests.measure.document import RESULTS
from scale_tests.measure.tables import show_bars

NAMESPACE = "partisan-churn"
NAME = "churn"
MUST_GATHER = ROOT / "build" / "must-gather" / "churn"


def parser() -> argparse.ArgumentParser:
    """The command line."""
    root = argparse.ArgumentParser(
        prog="python -m scale_tests churn",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    root.add_argument("command", nargs="?", choices=("run", "heal"), default="run")
    root.add_argument("--nodes", type=int, help="how many pods, 4 to 1024 (64; QUICK=1: 16)")
    root.add_argument("--seed", type=int, default=1, help="the same seed kills the same pods")
    root.add_argument(
        "--synchronization", choices=("State", "Delta", "Tree"), default="Delta", metavar="MODE"
    )
    root.add_argument(
        "--out",
        type=Path,
        default=RESULTS / "churn",
        metavar="DIRECTORY",
        help="where the page, its pictures and churn.json go",
    )
    return root


def main(arguments: Sequence[str]) -> int:
    """Runs a command; returns 1 if a bar is missed."""
    options = parser().parse_args(arguments)
    if options.command == "heal":
        return terminal.run(_heal, LocalkubeError, interrupted=".")
    quick = os.environ.get("QUICK") == "1"
    programme = Programme(
        nodes=options.nodes or (16 if quick else 64),
        seed=options.seed,
        synchronization=options.synchronization,
    )
    if quick:
        programme = replace(programme, churn_seconds=45, partition_seconds=30, calm_seconds=10)
    if not 4 <= programme.nodes <= 1024:
        parser().error(f"argument --nodes: {programme.nodes} is not between 4 and 1024")
    return terminal.run(
        lambda: _run(Console(), programme, options.out.resolve(), quick=quick),
        ApiError,
        CommandError,
        ConfigurationError,
        LocalkubeError,
        StalledError,
        interrupted=f": the cluster {NAMESPACE}/{NAME} is left as it is.",
    )


def _heal() -> int:
    partition.heal()
    return 0


def _run(console: Console, programme: Programme, directory: Path, *, quick: bool) -> int:
    environment = environments.bring_up()
    if not environment.local:
        console.print(
            "No partition: the network of a cluster of KUBECONFIG cannot be cut from here."
        )
        programme = replace(programme, partition_seconds=0)
    cluster = Cluster(environment.kubeconfig)
    _check_room(cluster, programme.nodes)
    operator.install(environment)
    remove_cluster(cluster, NAMESPACE, NAME)
    if cluster.find(f"api/v1/namespaces/{NAMESPACE}") is None:
        cluster.create("api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    started = datetime.now(UTC)
    cluster.create(partisan_cluster(NAMESPACE), programme.manifest(NAME))
    recorder, conductor, last = _record(console, environment, cluster, programme)
    if not recorder.samples:
        return 1
    bars = report.write(
        report.Recorded(
            programme=programme,
            started=started,
            versions=versions.of_cluster(cluster, recorder.last.nodes),
            local=environment.local,
            quick=quick,
            phases=conductor.phases,
            samples=recorder.samples,
            missed=recorder.missed,
            last=last,
        ),
        directory,
    )
    _show(console, [result.outcome(p, recorder.samples) for p in conductor.phases])
    held = show_bars(console, bars)
    console.print(f"\n{relative(directory)}")
    remove_cluster(cluster, NAMESPACE, NAME)
    return 0 if held else 1


def _record(
    console: Console, environment: Environment, cluster: Cluster, programme: Programme
) -> tuple[Recorder, Conductor, Sample | None]:
    """Does the programme; what a cluster that does not recover has shown is kept."""
    recorder = Recorder(environment, cluster, NAMESPACE, NAME)
    faults = Faults(environment, cluster, NAMESPACE, NAME, seed=programme.seed)
    conductor = Conductor(programme, faults, recorder, lambda text: console.print(text))
    with recorder:
        try:
            return recorder, conductor, conductor.run()
        except (StalledError, FaultError) as error:
            console.print(f"\n[bold red]{error}[/bold red]", highlight=False)
            explain(console, cluster, NAMESPACE, NAME, MUST_GATHER)
            return recorder, conductor, None


def _check_room(cluster: Cluster, nodes: int) -> None:
    """Refuses more pods than the cluster's machines take, before anything waits for them."""
    pods = capacity(cluster, besides=NAMESPACE)
    if nodes > pods.free:
        raise ConfigurationError(
            f"{nodes} nodes do not fit: the cluster takes {pods.limit} pods and has {pods.taken}. "
            f"Choose fewer, delete others, or let a local one take more: {pods.advice(nodes)}"
        )


def _show(console: Console, outcomes: Sequence[result.Outcome]) -> None:
    """Prints the page's table on its side: it has more columns than there are faults."""
    table = Table(title="what the faults did", title_justify="left")
    header, *figures = zip(report.COLUMNS, *report.rows(outcomes), strict=True)
    for index, name in enumerate(header):
        table.add_column(name, justify="right" if index else "left")
    for row in figures:
        table.add_row(*row)
    console.print(table)
