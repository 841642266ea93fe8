"""The measurement, in the place that `__main__` makes for it."""

from __future__ import annotations

import sys

from scale_tests.bench_operator import report
from scale_tests.kwok import session
from scale_tests.kwok.experiment import Scenario


def plan(quick: bool) -> list[Scenario]:
    """Many clusters of some size, and one that is large."""
    if quick:
        return [
            Scenario(clusters=clusters, pods=pods, rest_seconds=75.0, storm_pods=100)
            for clusters, pods in ((3, 50), (1, 128))
        ]
    return [
        Scenario(clusters=clusters, pods=pods, rest_seconds=190.0, storm_pods=500)
        for clusters, pods in ((20, 250), (1, 1024))
    ]


BENCH = session.Bench(
    name="bench-operator",
    scenarios=plan,
    bars=report.bars,
    table=report.table,
    draw=report.draw,
)

if __name__ == "__main__":
    sys.exit(session.run(BENCH))
