"""`python -m scale_tests formation [EXPERIMENT ...]`: measures how clusters form and fail.

Prints tables, writes build/results/formation.json, a page and a picture; ends with 1 when a target
is missed. `QUICK=1` takes fewer and smaller runs and says so in the result.
"""

from functools import partial

from scale_tests.benches.formation import experiments, report
from scale_tests.benches.formation.experiments import Lab
from scale_tests.cluster.fleet import build_release
from scale_tests.measure import drawing, versions
from scale_tests.measure.bench import Bench, Cell, Session, names_of

EXPERIMENTS = ("formation", "mesh", "lanes", "failures")


def measure(session: Session) -> int:
    """Runs the experiments that are named, or all."""
    lab = Lab(release=build_release(), say=session.say)
    quick, chosen = session.quick, session.options.names or EXPERIMENTS
    runs = 2 if quick else 3
    cells: list[Cell] = []
    if "formation" in chosen:
        cells += experiments.formation(lab, nodes=32 if quick else 64, runs=2 if quick else 20)
    if "mesh" in chosen:
        sizes = [4, 8, 16] if quick else [4, 8, 12, 16, 24, 32, 48, 64]
        cells += experiments.mesh(lab, sizes=sizes)
    if "lanes" in chosen:
        cells += experiments.lanes(lab, parallelism=16, runs=runs)
    if "failures" in chosen:
        cells += experiments.failures(lab, runs=runs)
    return session.conclude(
        cells, versions=versions.of_machine(lab.otp), config={"experiments": list(chosen)}
    )


BENCH = Bench(
    name="formation",
    about=__doc__,
    measure=measure,
    report=report,
    draw=partial(drawing.draw, [report.PICTURE]),
    options=[names_of("EXPERIMENT", EXPERIMENTS)],
)
