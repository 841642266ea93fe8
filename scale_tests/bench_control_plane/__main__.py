"""`python -m scale_tests.bench_control_plane`: measures a control plane with simulated pods.

Prints a table, writes build/results/bench-control-plane.json and a picture; ends with 1 when a bar
is missed. `QUICK=1` takes fewer pods, and says so in the result. Needs to be root.
"""

import sys

from scale_tests.kwok import session

sys.exit(session.begin("scale_tests.bench_control_plane.confined"))
