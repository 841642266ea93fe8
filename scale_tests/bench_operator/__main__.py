"""`python -m scale_tests.bench_operator`: measures the operator with simulated pods.

Prints a table, writes build/results/bench-operator.json and a picture; ends with 1 when a bar is
missed. `QUICK=1` takes fewer pods and a shorter rest, and says so in the result. Needs to be root.
"""

import sys

from scale_tests.bench_operator import report
from scale_tests.bench_operator.scenarios import plan
from scale_tests.kwok import session

BENCH = session.Bench(
    name="bench-operator", package="scale_tests.bench_operator", scenarios=plan, report=report
)

sys.exit(session.main(BENCH, sys.argv[1:]))
