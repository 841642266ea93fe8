"""`python -m scale_tests reply`: should a `gen_server` answer a call itself?

Measures Dynomite's request answered inline, by a spawned process, by a pool, and by the caller,
with answers that take up to a millisecond of a processor, and with answers that wait. Locates the
cost of an answer from which spawning is faster. Ends with 1 when a target is missed. `QUICK=1`
measures fewer points.
"""

import json
from dataclasses import asdict
from functools import partial

from scale_tests import otp
from scale_tests.benches.reply import pictures, plan, report
from scale_tests.measure import drawing, emulator, versions
from scale_tests.measure.bench import Bench, Session


def _measure(session: Session) -> int:
    chosen = plan.plan(quick=session.quick)
    points = plan.cells(chosen)
    otp.compile_runtime()
    flags = emulator.release()
    cells = []
    for line in emulator.lines("bench_reply", plan.text(points), flags=flags):
        cells.append(json.loads(line))
        if len(cells) % chosen.progress == 0:
            session.say(f"{len(cells)} of {len(points)} cells")
    return session.conclude(
        cells,
        versions=versions.of_machine(cell["otp"] for cell in cells),
        config={**asdict(chosen), "emulator_flags": " ".join(flags.arguments)},
        seconds=session.seconds,
    )


BENCH = Bench(
    name="reply",
    document="bench-reply",
    about=__doc__,
    measure=_measure,
    report=report,
    draw=partial(drawing.draw, pictures.PICTURES),
    quick="fewer points and repetitions",
    text=report.text,
)
