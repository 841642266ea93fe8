"""From cells to targets and tables."""

from collections.abc import Mapping, Sequence
from statistics import median, quantiles
from typing import Any

from scale_tests.host.documents import data_of
from scale_tests.measure import spread
from scale_tests.measure.checks import Check, at_most
from scale_tests.measure.page import Table
from scale_tests.measure.spread import Cell, Spread, having
from scale_tests.measure.tables import forms, tabulated

_DATA = data_of(__file__)

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
    return round(spread.growth(heap), 3) if heap else None


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
    metrics = {cell["metric"] for cell in cells}
    views = [
        {"view": view}
        | {name: Spread.of(own) for name in metrics if (own := values(cells, name, view=view))}
        for view in VIEWS
    ]
    viewers = [
        {"viewers": count}
        | {cell["metric"]: cell["value"] for cell in having(cells, view="", viewers=count)}
        for count in sorted({cell["viewers"] for cell in cells if not cell["view"]})
    ]
    return {
        "The page: median (least to greatest)": tabulated(
            forms(_DATA["views"], missing="-"), views
        ),
        "The operator": tabulated(forms(_DATA["viewers"], missing="-"), viewers),
    }


def text(meta: Mapping[str, Any], _cells: Sequence[Cell]) -> list[str]:
    """The circumstances of a run."""
    return [part.format(**meta["config"], samples=SAMPLES) for part in _DATA["text"]]


def _most(cells: Sequence[Cell], view: str) -> float | None:
    found = values(cells, "update_ms", view=view)
    return round(quantiles(found, n=20, method="inclusive")[-1], 1) if len(found) > 1 else None
