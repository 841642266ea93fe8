"""`python -m scale_tests simulate [run|draw]`: the papers' experiments, in virtual time.

`run` prints every figure next to the paper's, and writes simulate.json, pictures and a page.
`QUICK=1`: clusters of a tenth of the size. `draw` draws the figures of the result in --out as the
documents show them, `simulated-NAME.svg`.
"""

import json
from pathlib import Path

from scale_tests import otp
from scale_tests.benches.simulate import page, pictures, report, runner
from scale_tests.benches.simulate.plan import plan
from scale_tests.host.commands import ROOT, relative
from scale_tests.measure import versions
from scale_tests.measure.bench import Bench, Session, option
from scale_tests.measure.figure import Cell

OPTIONS = (
    option("command", nargs="?", choices=("run", "draw"), default="run"),
    option("--seed", type=int, default=1, help="the same seed is the same run"),
    option("--only", nargs="+", default=[], metavar="EXPERIMENT"),
    option("--most", type=int, metavar="NODES", help="leave out what is larger"),
    option(
        "--into",
        type=Path,
        default=ROOT / "docs" / "pictures",
        metavar="DIRECTORY",
        help="where `draw` puts its pictures (default: docs/pictures)",
    ),
)


def _measure(session: Session) -> int:
    wanted = session.options
    if wanted.command == "draw":
        result = json.loads((session.directory / "simulate.json").read_text())
        for file in pictures.illustrate([Cell(**cell) for cell in result["cells"]], wanted.into):
            session.say(f"Written: {relative(file)}")
        return 0
    jobs = plan(quick=session.quick, seed=wanted.seed, only=wanted.only, most=wanted.most)
    otp.compile_runtime()
    found = report.Report(runner.run_all(jobs))
    return session.reported(found).conclude(
        found.cells(),
        versions=versions.of_machine(outcome.otp for outcome in found.outcomes),
        **found.meta(),
    )


BENCH = Bench(
    name="simulate",
    about=__doc__,
    measure=_measure,
    draw=lambda cells, directory: pictures.draw([Cell(**cell) for cell in cells], directory),
    page=page.page,
    options=OPTIONS,
    expected=(OSError, ValueError),
)
