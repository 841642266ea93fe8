"""The end of a run whose experiments were not run."""

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest

from scale_tests.benches.simulate.cli import BENCH
from scale_tests.benches.simulate.report import Report
from scale_tests.benches.simulate.runner import Outcome
from scale_tests.measure import document
from scale_tests.measure.bench import Session

Conclude = Callable[..., Path]
"""Takes outcomes and whether the run was quick; returns the directory of the page."""


@pytest.fixture
def conclude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Conclude:
    monkeypatch.setattr(document, "RESULTS", tmp_path / "results")

    def end(*outcomes: Outcome, quick: bool = False) -> Path:
        directory = tmp_path / "out"
        found = Report(outcomes)
        session = Session(bench=BENCH, options=Namespace(out=directory), quick=quick)
        session.reported(found).conclude(found.cells(), versions={"otp": "25"}, **found.meta())
        return directory

    return end
