"""`python -m scale_tests demo run|down`: a cluster from nothing to its end, and nothing again."""

from scale_tests.benches.demo import flow
from scale_tests.measure.bench import Bench, Session, option


def _measure(session: Session) -> int:
    down = session.options.command == "down"
    return flow.down(session.console) if down else flow.run(session)


BENCH = Bench(
    name="demo",
    about=__doc__,
    measure=_measure,
    options=(
        option(
            "command",
            choices=("run", "down"),
            help="bring everything up and follow a cluster to its end; or remove all of it",
        ),
        # A directory for each run, build/results/demo-DATE, where it is not given.
        lambda parser: parser.set_defaults(out=None),
    ),
    expected=(OSError, ValueError),
    interrupted=". What runs, runs on: `make down` removes it.",
)
