"""`python -m scale_tests dashboards [DIRECTORY]`: a staging run, and whether one can see it.

Every query of every dashboard has to return data of it, every alert has to be evaluated, and those
that a lasting fault calls for have to fire and to end. Writes the pictures of the dashboards into
DIRECTORY and build/results/staging.json. `QUICK=1` takes fewer and smaller clusters.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from charts.tools.dashboards.files import committed
from scale_tests.benches.dashboards.findings import Ranges, bars, cells, findings, ranges
from scale_tests.benches.dashboards.pictures import asking, draw
from scale_tests.benches.dashboards.plan import FULL, QUICK
from scale_tests.benches.dashboards.run import CHAIN_NAMESPACE, FAULTY, NAMESPACE, Stage, perform
from scale_tests.cluster import operator
from scale_tests.cluster.environment import ConfigurationError
from scale_tests.cluster.kube import ApiError, Cluster
from scale_tests.cluster.monitoring import prometheus
from scale_tests.cluster.nodes import read_nodes
from scale_tests.cluster.wait import StalledError
from scale_tests.host.commands import CommandError, relative
from scale_tests.localkube.toolset import BuildError
from scale_tests.measure import terminal, versions
from scale_tests.measure.document import RESULTS, document, write
from scale_tests.measure.tables import show_bars


def main(arguments: Sequence[str]) -> int:
    """Runs it; returns 1 if something was not to be seen."""
    parser = argparse.ArgumentParser(prog="python -m scale_tests dashboards", description=__doc__)
    parser.add_argument("directory", type=Path, nargs="?", default=RESULTS / "staging")
    directory = parser.parse_args(arguments).directory
    return terminal.run(
        lambda: _run(Console(), directory),
        ApiError,
        BuildError,
        CommandError,
        ConfigurationError,
        ConnectionError,
        StalledError,
        interrupted=f". Its clusters are in the namespaces {NAMESPACE} and {CHAIN_NAMESPACE}.",
    )


def _run(console: Console, directory: Path) -> int:
    quick = os.environ.get("QUICK") == "1"
    started = datetime.now(UTC)
    environment = operator.ready_cluster()
    cluster = Cluster(environment.kubeconfig)
    stage = Stage(
        environment=environment,
        cluster=cluster,
        prometheus=prometheus.install(environment),
        say=lambda text: console.print(f"{time.strftime('%H:%M:%S')}  {text}", highlight=False),
    )
    stage.reset()
    perform(stage, QUICK if quick else FULL)
    stage.say("looking at what there is to see")
    found = findings(stage)
    _draw(stage, ranges(stage, found.end), directory)
    checked = bars(found, stage)
    held = show_bars(console, checked)
    nodes = read_nodes(cluster, NAMESPACE, [f"{FAULTY}-0"])
    file = write(
        document(
            "staging",
            started=started,
            versions=versions.of_cluster(cluster, nodes),
            cells=cells(found, stage),
            bars=checked,
            quick=quick,
            local_cluster=environment.local,
        )
    )
    stage.remove()
    console.print(f"{relative(file)}\n{relative(directory)}/dashboard-*.svg", highlight=False)
    return 0 if held else 1


def _draw(stage: Stage, shown: Ranges, directory: Path) -> None:
    """Draws each dashboard as it shows the part of the run that it is made for."""
    for name, dashboard in committed().items():
        title = dashboard["title"]
        ask = asking(stage.prometheus, shown.of(title))
        draw(dashboard, ask, directory, shown.subtitle(title), file=f"dashboard-{name}")
