"""From cells to targets and tables."""

from collections.abc import Mapping, Sequence
from statistics import median, quantiles
from typing import Any

from scale_tests.measure.checks import Check, at_most
from scale_tests.measure.page import Table
from scale_tests.measure.spread import Cell, Spread, having

OVERLAY = "overlay"
VIEWS = (OVERLAY, "nodes", "traffic", "run", "events")

SAMPLES = 24
"""Samples of the tab's memory."""


def values(cells: Sequence[Cell], metric: str, *, view: str = "", viewers: int = 1) -> list[float]:
    """The values of a metric, in the order in which they were measured."""
    found = having(cells, metric=metric, view=view, viewers=viewers)
    return [float(cell["value"]) for cell in found]


def growth(cells: Sequence[Cell]) -> float | None:
    """The tab's memory in the last quarter of the changes over that in the second."""
    heap = values(cells, "heap_mib", view=OVERLAY)
    quarter = len(heap) // 4
    return (
        round(median(heap[-quarter:]) / median(heap[quarter : 2 * quarter]), 3) if quarter else None
    )


def checks(cells: Sequence[Cell]) -> list[Check]:
    """The targets of the page and of its viewers."""

    def cost(metric: str, viewers: int) -> float | None:
        return next(iter(values(cells, metric, viewers=viewers)), None)

    drawn = values(cells, "drawn_seconds", view=OVERLAY)
    return [
        at_most("seconds until all nodes are drawn, median", median(drawn) if drawn else None, 2),
        *(
            at_most(f"ms of main thread for a change in {view}, 95 %", _most(cells, view), 50)
            for view in VIEWS
        ),
        at_most("growth of the tab's memory over all changes", growth(cells), 1.1),
        at_most("bytes per second of a stream at rest", cost("stream_bytes_per_second", 1), 20_000),
        at_most("percent of a CPU for ten viewers", cost("operator_cpu_percent", 10), 5),
        at_most("MiB of the operator for ten viewers", cost("operator_memory_mib", 10), 20),
        at_most("percent of a CPU without viewers", cost("operator_cpu_percent", 0), 0.1),
    ]


def tables(cells: Sequence[Cell]) -> dict[str, Table]:
    """Views and viewers."""
    views = [
        [
            view,
            *(
                str(Spread.of(found)) if (found := values(cells, metric, view=view)) else "-"
                for metric in ("drawn_seconds", "update_ms", "main_thread_ms", "heap_mib")
            ),
        ]
        for view in VIEWS
    ]
    counts = sorted({cell["viewers"] for cell in cells if not cell["view"]})
    operator = [
        [
            str(count),
            *(
                f"{found[0]:,.2f}" if (found := values(cells, metric, viewers=count)) else "-"
                for metric in (
                    "operator_cpu_percent",
                    "operator_memory_mib",
                    "stream_bytes_per_second",
                )
            ),
        ]
        for count in counts
    ]
    return {
        "The page: median (least to greatest)": Table(
            head=("view", "drawn, s", "a change, ms", "with drawing, ms", "heap, MiB"), rows=views
        ),
        "The operator": Table(
            head=("viewers", "% of a CPU", "memory, MiB", "stream at rest, bytes/s"), rows=operator
        ),
    }


def text(meta: Mapping[str, Any], _cells: Sequence[Cell]) -> list[str]:
    """The circumstances of a run."""
    config = meta["config"]
    return [
        f"A synthetic cluster of {config['nodes']:,} nodes and {config['links']:,} links: a random "
        "graph from a seed, with at most six links at a node, as in HyParView. It is changed by "
        "kills, switches of the overlay and partitions. Status, Events, stream and page are the "
        "operator's own code; Chromium draws in software.",
        "A change is `performance.measure` around its application on the main thread; with "
        "drawing, all tasks of the main thread until the second frame after it. Memory is the heap "
        f"after a collection, {SAMPLES} times over {config['changes']} changes. The operator's "
        "figures are for a change every 6 seconds; the simulation of the cluster is not in them. "
        "At rest the run of the workload is over, and only counters of traffic change.",
    ]


def _most(cells: Sequence[Cell], view: str) -> float | None:
    found = values(cells, "update_ms", view=view)
    return round(quantiles(found, n=20, method="inclusive")[-1], 1) if len(found) > 1 else None
