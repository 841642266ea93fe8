"""`python -m scale_tests upgrade REVISION [--nodes N]`: upgrades a running cluster from REVISION.

The operator of this checkout is left on the cluster. Ends with 1 when a target is missed.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Console

from scale_tests.benches.upgrade import earlier, report, rolling
from scale_tests.cluster import environment as environments
from scale_tests.cluster import operator
from scale_tests.cluster.environment import ConfigurationError
from scale_tests.cluster.kube import ApiError, Cluster
from scale_tests.cluster.must_gather import must_gather
from scale_tests.cluster.removal import remove_namespace
from scale_tests.cluster.subject import Subject
from scale_tests.cluster.wait import StalledError
from scale_tests.host.commands import CommandError, relative
from scale_tests.measure import terminal, versions
from scale_tests.measure.document import RESULTS, document, write
from scale_tests.measure.tables import show_bars

NAMESPACE = "upgrade"


def main(arguments: Sequence[str]) -> int:
    """Runs the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m scale_tests upgrade", description=__doc__)
    parser.add_argument("revision", help="what is upgraded from, as git names it")
    parser.add_argument("--nodes", type=int, default=16, help="how many (default: %(default)s)")
    options = parser.parse_args(arguments)
    return terminal.run(
        lambda: _run(Console(), options.revision, options.nodes),
        ApiError,
        CommandError,
        ConfigurationError,
        StalledError,
        interrupted=": nothing was written.",
    )


def _run(console: Console, revision: str, nodes: int) -> int:
    started = datetime.now(UTC)
    environment = environments.bring_up()
    cluster = Cluster(environment.kubeconfig)
    old, chart = earlier.prepare(environment, revision)
    operator.uninstall_release(environment)
    if cluster.find(operator.CRD) is not None:
        remove_namespace(cluster, NAMESPACE)
    cluster.create("api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    subject = Subject(environment, cluster, NAMESPACE, "upgraded")
    try:
        done = rolling.upgrade(subject, old, chart, nodes, console.print)
    except (ApiError, CommandError, StalledError):
        kept = must_gather(cluster, NAMESPACE, RESULTS.parent / "must-gather" / NAMESPACE)
        console.print(f"The state of the cluster is in {relative(kept)}")
        raise
    bars = report.bars(done, nodes)
    file = write(
        document(
            "upgrade",
            started=started,
            versions=versions.of_cluster(cluster, done.nodes),
            cells=report.cells(done),
            bars=bars,
            config={"from": revision, "nodes": nodes, "increments": rolling.increments(nodes)},
        )
    )
    remove_namespace(cluster, NAMESPACE)
    held = show_bars(console, bars)
    console.print(f"Written: {relative(file)}")
    return 0 if held else 1
