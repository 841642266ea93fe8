"""`python -m scale_tests control-plane`: measures a control plane with simulated pods.

Prints a table, writes build/results/bench-control-plane.json and a picture; ends with 1 when a bar
is missed. `QUICK=1` takes fewer pods, and says so in the result. Needs to be root.
"""

from collections.abc import Sequence

from scale_tests.benches.control_plane import report
from scale_tests.benches.control_plane.scenarios import plan
from scale_tests.measure.kwok import session

BENCH = session.Bench(
    name="bench-control-plane",
    command="control-plane",
    about=__doc__,
    scenarios=plan,
    report=report,
)


def main(arguments: Sequence[str]) -> int:
    """Runs the bench; returns 1 when a target is missed."""
    return session.main(BENCH, arguments)
