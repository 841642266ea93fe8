"""`python -m scale_tests operator-bench`: measures the operator with simulated pods.

Prints a table, writes build/results/bench-operator.json, a page and a picture; ends with 1 when a
target is missed. `QUICK=1` takes fewer pods and a shorter rest, and says so in the result. Needs to
be root.
"""

from scale_tests.benches.operator_bench import report
from scale_tests.measure.kwok import session
from scale_tests.measure.kwok.experiment import Scenario


def plan(quick: bool) -> list[Scenario]:
    """Many clusters of some size, and one that is large."""
    sizes, rest, storm = (
        (((3, 50), (1, 128)), 75.0, 100) if quick else (((20, 250), (1, 1024)), 190.0, 500)
    )
    return [
        Scenario(clusters=clusters, pods=pods, rest_seconds=rest, storm_pods=storm)
        for clusters, pods in sizes
    ]


BENCH = session.bench(
    "operator-bench", about=__doc__, scenarios=plan, report=report, pictures=[report.PICTURE]
)
