"""A benchmark with simulated pods, on the protocol of `measure.bench`."""

import argparse
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path

from scale_tests.cluster.kwok import confinement, machines
from scale_tests.cluster.kwok.control_plane import settings_in
from scale_tests.host.commands import relative
from scale_tests.localkube import build as localkube_build
from scale_tests.measure import drawing, versions
from scale_tests.measure.bench import Bench, Cell, Report, Session, option
from scale_tests.measure.drawing import Picture
from scale_tests.measure.kwok.experiment import Scenario, measure

_CONFINED = "--confined"


def bench(
    name: str,
    *,
    about: str | None,
    scenarios: Callable[[bool], Sequence[Scenario]],
    report: Report,
    pictures: Iterable[Picture[Sequence[Cell]]],
) -> Bench:
    """A benchmark of scenarios, kept as `bench-NAME`; `scenarios` takes whether `QUICK=1`.

    It starts itself once more, confined, with an argument that says so.
    """
    return Bench(
        name=name,
        document=f"bench-{name.removesuffix('-bench')}",
        about=about,
        measure=lambda session: (
            _measure(session, scenarios(session.quick))
            if session.options.confined
            else _confine(session)
        ),
        report=report,
        draw=partial(drawing.draw, pictures),
        options=[option(_CONFINED, action="store_true", help=argparse.SUPPRESS)],
    )


def _confine(session: Session) -> int:
    """Builds the programs, which needs the network, and runs the bench confined."""
    localkube_build.TOOLSET.ensure_built()
    machines.TOOLSET.ensure_built()
    own = (session.bench.name, _CONFINED, "--out", str(session.directory))
    return confinement.confine("scale_tests", *own)


def _measure(session: Session, scenarios: Sequence[Scenario]) -> int:
    confinement.heed()
    cells = []
    for scenario in scenarios:
        with _directory(session) as directory:
            cells.append(measure(scenario, directory, session.say))
    return session.conclude(
        cells,
        versions={
            **versions.of_repository(),
            "kubernetes": localkube_build.KUBERNETES,
            "kwok": machines.version(),
        },
        config={
            "scenarios": [asdict(scenario) for scenario in scenarios],
            "pods_are": "simulated: KWOK reports them as running, and a stand-in answers for them",
        },
    )


@contextmanager
def _directory(session: Session) -> Iterator[Path]:
    """A directory for one control plane. After an error its logs are kept with the result."""
    with tempfile.TemporaryDirectory(prefix=f"{session.bench.kept_as}-") as temporary:
        directory = Path(temporary)
        try:
            yield directory
        except Exception:
            kept = session.directory / "logs"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(settings_in(directory).logs, kept)
            session.say(f"the logs: {relative(kept)}")
            raise
