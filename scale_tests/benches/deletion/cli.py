"""`python -m scale_tests deletion`: forms and deletes clusters under a node agent.

Run by `make bench-deletion`, as the command of `scale_tests.cluster.agent`. A cell that is done is
kept in DIRECTORY/cells and not measured again; remove the file to do so.
`QUICK=1` takes 64 nodes and three overlays.
"""

from scale_tests.benches.deletion import measure, plan, report
from scale_tests.benches.deletion.measure import NAMESPACE
from scale_tests.benches.deletion.plan import Point
from scale_tests.cluster import crd, operator
from scale_tests.cluster.kube import Cluster
from scale_tests.cluster.removal import remove_namespace
from scale_tests.host.commands import ExpectedError
from scale_tests.measure import versions
from scale_tests.measure.bench import Bench, Cell, Session, option, some_of


def _sizes(text: str) -> list[int]:
    return [int(size) for size in some_of([*map(str, plan.SIZES)])(text)]


OPTIONS = (
    option("--sizes", type=_sizes, default=()),
    option("--overlays", type=some_of(crd.overlays()), default=()),
    option(
        "--report", action="store_true", help="measure nothing: document and page of what is done"
    ),
    option(
        "--installed", action="store_true", help="use the operator that is in the cluster already"
    ),
)


def _measure(session: Session) -> int:
    """Runs the cells that are not done."""
    wanted = session.options
    points = plan.points(quick=session.quick, sizes=wanted.sizes, overlays=wanted.overlays)
    if wanted.report:
        points = [point for point in points if session.kept(point.slug)]
    if not points:
        raise ExpectedError(
            "there is no such cell: choose other --sizes and --overlays, and leave out QUICK=1; for"
            " --report, one that is done"
        )
    cluster = Cluster(
        operator.ready_cluster(installed=wanted.installed or wanted.report).kubeconfig
    )
    cells = []
    try:
        for number, point in enumerate(points, start=1):
            session.say(f"[{number}/{len(points)}] {point.slug}")
            cells.append(_cell(cluster, point, session))
    finally:
        remove_namespace(cluster, NAMESPACE)
    return session.conclude(
        cells,
        versions=versions.of_cluster(cluster, [])
        | {"otp": ", ".join({cell["otp"] for cell in cells})},
        config={"cells": [point.slug for point in points]},
    )


BENCH = Bench(
    name="deletion",
    about=__doc__,
    measure=_measure,
    report=report,
    quick="64 nodes, three overlays",
    text=report.text,
    options=OPTIONS,
    interrupted=": the same command continues with the cells that are not done.",
)


def _cell(cluster: Cluster, point: Point, session: Session) -> Cell:
    """The figures of a cell that is done, or is done now."""
    if done := session.kept(point.slug):
        return done
    last = ""

    def say(line: str) -> None:
        nonlocal last
        if line != last:
            last = line
            session.say(f"  {line}")

    return session.keep(point.slug, measure.run(cluster, point, say))
