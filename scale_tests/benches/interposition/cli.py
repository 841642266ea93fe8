"""`python -m scale_tests interposition [--base REVISION]`: what fault injection costs when off.

Measures the runtime of this checkout and that of an earlier revision in turns: a send to its
caller, messages of 1 KB per second, and a send while one rule that matches nothing is set. Ends
with 1 when a target is missed. `QUICK=1` measures three pairs.
"""

from scale_tests.benches.interposition import pairs, report
from scale_tests.host import revision
from scale_tests.measure import versions
from scale_tests.measure.bench import Bench, Session, option

PAIRS, QUICK_PAIRS = 5, 3


def _measure(session: Session) -> int:
    base = revision.commit(session.options.base or pairs.before_interposition())
    count = QUICK_PAIRS if session.quick else PAIRS
    cells = pairs.measure(base, count, session.say)
    return session.conclude(
        cells,
        versions=versions.of_machine(cell["otp"] for cell in cells),
        config={"base": base, "pairs": count, "repetitions": pairs.REPETITIONS},
    )


BENCH = Bench(
    name="interposition",
    about=__doc__,
    measure=_measure,
    report=report,
    quick="three pairs",
    text=report.text,
    options=[
        option(
            "--base",
            metavar="REVISION",
            help="what to compare with (default: the commit before interposition)",
        )
    ],
)
