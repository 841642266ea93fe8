"""`python -m scale_tests joining`: measures, prints a table, writes build/results/bench.json.

`QUICK=1` takes fewer repetitions and says so in the result.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table

from scale_tests.benches.joining import measure
from scale_tests.benches.joining.manifests import CLUSTER
from scale_tests.cluster import environment as environments
from scale_tests.cluster import operator
from scale_tests.cluster.footprints import Footprint, footprints
from scale_tests.cluster.kube import Cluster
from scale_tests.cluster.nodes import read_nodes
from scale_tests.cluster.removal import remove_cluster
from scale_tests.host.commands import relative
from scale_tests.host.units import MIB
from scale_tests.measure import versions
from scale_tests.measure.bars import Bar
from scale_tests.measure.document import document, write
from scale_tests.measure.tables import show_bars, spread

NODES = 32
MORE_THAN_THE_RUNTIME = 5.0
"""How many seconds joining may take beyond what the same pods take without an overlay."""


def main(arguments: Sequence[str]) -> int:
    """Runs every measurement; returns 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m scale_tests joining", description=__doc__)
    parser.parse_args(arguments)
    quick = os.environ.get("QUICK") == "1"
    console = Console()
    started = datetime.now(UTC)
    environment = environments.bring_up()
    cluster = Cluster(environment.kubeconfig)
    operator.install(environment)
    operator.kubectl(
        environment, "apply", "-f", "-", stdin=json.dumps(_namespace(measure.NAMESPACE))
    )
    remove_cluster(cluster, measure.NAMESPACE, CLUSTER)
    cells: list[dict[str, Any]] = []
    repetitions = 1 if quick else 5
    for repetition in range(repetitions):
        console.print(f"start of {NODES} pods, {repetition + 1} of {repetitions}")
        measure.settle(environment)
        bare = measure.baseline_seconds(environment, cluster, NODES)
        measure.settle(environment)
        ours = measure.cluster_seconds(environment, cluster, NODES)
        cells.append({"figure": "start", "baseline_seconds": bare, "cluster_seconds": ours})
        if repetition + 1 < repetitions:
            remove_cluster(cluster, measure.NAMESPACE, CLUSTER)
    nodes = footprints(measure.NAMESPACE) if environment.local else []
    cells += [{"figure": "footprint", **vars(node)} for node in nodes]
    console.print("operator at rest")
    measure.settle(environment)
    rest = measure.overhead(cluster, 30.0 if quick else 120.0)
    cells.append({"figure": "operator_at_rest", **vars(rest)})
    for repetition in range(repetitions):
        console.print(f"boot to joined, {repetition + 1} of {repetitions}")
        seconds = measure.boot_to_joined(environment, cluster)
        cells.append({"figure": "boot_to_joined", "seconds": seconds})
    bars = _bars(cells)
    _print(console, cells, nodes)
    held = show_bars(console, bars)
    file = write(
        document(
            "bench",
            started=started,
            versions=versions.of_cluster(
                cluster, read_nodes(cluster, measure.NAMESPACE, [f"{CLUSTER}-0"])
            ),
            cells=cells,
            bars=bars,
            config={"nodes": NODES, "repetitions": repetitions},
            quick=quick,
        )
    )
    console.print(f"\n{relative(file)}")
    remove_cluster(cluster, measure.NAMESPACE, CLUSTER)
    return 0 if held else 1


def _bars(cells: list[dict[str, Any]]) -> list[Bar]:
    starts = [cell for cell in cells if cell["figure"] == "start"]
    beyond = statistics.median(c["cluster_seconds"] - c["baseline_seconds"] for c in starts)
    writes = sum(cell["writes"] for cell in cells if cell["figure"] == "operator_at_rest")
    return [
        Bar(
            name="seconds from apply to joined beyond what bare pods take",
            value=round(beyond, 2),
            bar=f"<= {MORE_THAN_THE_RUNTIME}",
            ok=beyond <= MORE_THAN_THE_RUNTIME,
        ),
        Bar(
            name="writes of the operator while nothing happens",
            value=writes,
            bar="= 0",
            ok=writes == 0,
        ),
    ]


def _print(console: Console, cells: list[dict[str, Any]], nodes: list[Footprint]) -> None:
    def of(figure: str, key: str) -> str:
        return spread(cell[key] for cell in cells if cell["figure"] == figure)

    rest = next(cell for cell in cells if cell["figure"] == "operator_at_rest")
    table = Table(title=f"{NODES} nodes", show_header=False)
    table.add_row("apply to all bare pods running, s", of("start", "baseline_seconds"))
    table.add_row("apply to all nodes ready and joined, s", of("start", "cluster_seconds"))
    table.add_row("boot of a node to joined, s", of("boot_to_joined", "seconds"))
    table.add_row(
        f"operator's requests in {rest['seconds']:.0f} s of rest",
        f"{rest['reads']} reads, {rest['writes']} writes",
    )
    if nodes:
        table.add_row(
            "memory of an idle node (PSS), MiB",
            f"{statistics.median(node.pss for node in nodes) / MIB:.1f}",
        )
        table.add_row(
            "of that private, MiB",
            f"{statistics.median(node.private for node in nodes) / MIB:.1f}",
        )
        table.add_row(
            "processor time of a node until all had joined, s",
            f"{statistics.median(node.cpu_seconds for node in nodes):.2f}",
        )
    console.print(table)


def _namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
