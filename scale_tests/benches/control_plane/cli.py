"""`python -m scale_tests control-plane`: measures a control plane with simulated pods.

Prints a table, writes build/results/bench-control-plane.json, a page and a picture; ends with 1
when a target is missed. `QUICK=1` takes fewer pods, and says so in the result. Needs to be root.
"""

from scale_tests.benches.control_plane import report
from scale_tests.measure.kwok import session
from scale_tests.measure.kwok.experiment import Scenario

REST_SECONDS = 75.0


def plan(quick: bool) -> list[Scenario]:
    """One cluster of growing size, and many; controllers at Kubernetes' own rate limits."""
    sizes = (
        [(1, 32), (1, 64), (1, 128), (3, 50)]
        if quick
        else [(1, 128), (1, 256), (1, 512), (1, 1024), (20, 250)]
    )
    return [
        Scenario(clusters=clusters, pods=pods, rest_seconds=REST_SECONDS, default_limits=True)
        for clusters, pods in sizes
    ]


BENCH = session.bench(
    "control-plane", about=__doc__, scenarios=plan, report=report, pictures=[report.PICTURE]
)
