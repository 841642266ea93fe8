"""`python -m scale_tests verify`: every protocol and model of the verification, checked.

Prints tables, writes build/results/verify.json, a page with space-time diagrams and the
counterexamples themselves; ends with 1 when a target is missed. `--publish` writes the page under
docs/ and the tables into docs/evaluation/verification.md. `QUICK=1` takes fewer seeds and replays.
"""

import shutil
import time
from pathlib import Path

from scale_tests import otp
from scale_tests.benches.verify import plan, report, runner
from scale_tests.benches.verify.runner import Emulator
from scale_tests.host.commands import ROOT
from scale_tests.measure import versions
from scale_tests.measure.bench import Bench, Cell, Session, option

TESTS = otp.RUNTIME / "apps" / "verify" / "test"
PUBLISHED = ROOT / "docs" / "results" / "verify"


def measure(session: Session) -> int:
    """Runs everything; the counterexamples go into the directory of the page."""
    started = time.monotonic()
    if session.options.publish:
        session.options.out = PUBLISHED
    found = session.directory / "counterexamples"
    shutil.rmtree(found, ignore_errors=True)
    found.mkdir(parents=True)
    session.say("Compiling for both releases of OTP")
    emulators = runner.emulators()
    jobs = [
        *plan.explorations(str(TESTS), str(found)),
        *plan.campaigns(str(found), quick=session.quick),
        *plan.own(quick=session.quick),
    ]
    cells = [cell for of in runner.run_all(jobs, emulators[0], session.say) for cell in of]
    for mutation in (None, plan.ROTATION):
        cells.append(runner.rotation(mutation=mutation, quick=session.quick))
        session.say(f"  rotation: {mutation or 'as it is'}")
    cells += _replays(session, found, emulators)
    cells.append({"part": "all", "seconds": time.monotonic() - started})
    status = session.conclude(cells, versions=versions.of_machine(e.release for e in emulators))
    if session.options.publish:
        report.publish(cells)
    return status


def _replays(session: Session, found: Path, emulators: list[Emulator]) -> list[Cell]:
    """Replays of what was found on one release, on all; and what another release finds."""
    cells: list[Cell] = []
    times = 100 if session.quick else plan.REPLAYS
    for finder in emulators:
        directory = found / f"otp{finder.release}"
        directory.mkdir()
        runner.run_all(plan.replayed(str(directory)), finder, session.say)
        files = sorted(directory.iterdir())
        replays = [plan.replay(str(file), times) for file in files]
        for emulator in emulators:
            for of in runner.run_all(replays, emulator, session.say):
                cells += [cell | {"found_on": finder.release} for cell in of]
    for cell in cells:
        cell["file"] = Path(cell["file"]).name
    return cells


BENCH = Bench(
    name="verify",
    about=__doc__,
    measure=measure,
    report=report,
    draw=report.draw,
    quick="fewer seeds and replays",
    options=[option("--publish", action="store_true", help=f"write into {PUBLISHED.parent}")],
)
