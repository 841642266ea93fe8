"""`python -m scale_tests.bench_control_plane`: measures a control plane with simulated pods.

Prints a table, writes build/results/bench-control-plane.json and a picture; ends with 1 when a bar
is missed. `QUICK=1` takes fewer pods, and says so in the result. Needs to be root.
"""

import sys

from scale_tests.bench_control_plane import report
from scale_tests.bench_control_plane.scenarios import plan
from scale_tests.kwok import session

BENCH = session.Bench(
    name="bench-control-plane",
    package="scale_tests.bench_control_plane",
    scenarios=plan,
    report=report,
)

sys.exit(session.main(BENCH, sys.argv[1:]))
