"""The runner's reading of an experiment's process."""

from pathlib import Path

import pytest

from scale_tests.benches.simulate import runner
from scale_tests.benches.simulate.plan import Job
from scale_tests.host.commands import CommandError


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A script instead of the simulator."""
    path = tmp_path / "simulate"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setattr(runner, "SCRIPT", path)
    return path


def test_it_has_the_lines_of_an_experiment(program: Path) -> None:
    """The last of them has its duration."""
    program.write_text(
        """#!/bin/sh
        echo '{"experiment": "x", "overlay": "y", "nodes": 8, "parameter": "z", "value": 1.5}'
        echo '{"finished": "x", "seconds": 2.0, "cpu_seconds": 3.0, "otp": "27"}'
        """
    )
    outcome = runner.run(Job(experiment="x", nodes=8, seed=7))
    [cell] = outcome.cells
    assert (cell["parameter"], cell["value"], outcome.job.seed) == ("z", 1.5, 7)
    assert (outcome.seconds, outcome.cpu_seconds) == (2.0, 3.0)


def test_one_that_fails_is_reported_with_its_output(program: Path) -> None:
    """Erlang reports a crash on the standard output, where only JSON is else."""
    program.write_text(
        """#!/bin/sh
        echo '{"experiment": "x", "overlay": "y", "nodes": 8, "parameter": "z", "value": 1.5}'
        echo '=ERROR REPORT===='
        echo 'x failed: function_clause' >&2
        exit 1
        """
    )
    with pytest.raises(CommandError, match="x failed: function_clause"):
        runner.run(Job(experiment="x"))


def test_one_that_ends_without_saying_so_has_failed(program: Path) -> None:
    program.write_text(
        """#!/bin/sh
        echo '{"experiment": "x", "overlay": "y", "nodes": 8, "parameter": "z", "value": 1.5}'
        """
    )
    with pytest.raises(CommandError):
        runner.run(Job(experiment="x"))
