"""`python -m scale_tests operator-bench`: measures the operator with simulated pods.

Prints a table, writes build/results/bench-operator.json and a picture; ends with 1 when a bar is
missed. `QUICK=1` takes fewer pods and a shorter rest, and says so in the result. Needs to be root.
"""

from collections.abc import Sequence

from scale_tests.benches.operator_bench import report
from scale_tests.benches.operator_bench.scenarios import plan
from scale_tests.measure.kwok import session

BENCH = session.Bench(
    name="bench-operator", command="operator-bench", about=__doc__, scenarios=plan, report=report
)


def main(arguments: Sequence[str]) -> int:
    """Runs the bench; returns 1 when a target is missed."""
    return session.main(BENCH, arguments)
