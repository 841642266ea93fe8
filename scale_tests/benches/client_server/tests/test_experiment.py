"""The endings of a run."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scale_tests.benches.client_server import experiment
from scale_tests.benches.client_server.experiment import Run
from scale_tests.cluster.fleet import Fleet

RUN = Run(clients=2, memory_limit=100)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """A process that stands for the server."""
    monkeypatch.setattr(experiment, "_SAMPLE_SECONDS", 0)
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def watched(
    server: subprocess.Popen[bytes], sizes: list[float], monkeypatch: pytest.MonkeyPatch
) -> tuple[list[dict[str, Any]], str]:
    """Samples and outcome of a run whose server is seen with these MiB in turn, and then gone."""
    memory = iter(sizes)

    def sample(_nodes: Fleet, _run: Run, second: float) -> dict[str, Any]:
        for mib in memory:
            return {
                "second": second,
                "memory_mib": mib,
                "value": 0,
                "done": 0,
                "converged": False,
                "servers_answering": 1,
            }
        raise ProcessLookupError

    monkeypatch.setattr(experiment, "_sample", sample)
    fleet = Fleet(plan=RUN.plan(), directory=Path(), release=Path(), processes={0: server})
    found = experiment._watch(fleet, RUN, lambda _text: None)
    return found["samples"], found["outcome"]


def test_a_server_beyond_its_limit_has_collapsed(
    server: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    samples, outcome = watched(server, [50, 99, 101], monkeypatch)
    assert (len(samples), outcome) == (3, "collapsed")


def test_a_server_that_the_kernel_has_killed_keeps_its_samples(
    server: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.kill()
    server.wait()
    samples, outcome = watched(server, [50, 99], monkeypatch)
    assert ([sample["memory_mib"] for sample in samples], outcome) == ([50, 99], "killed")


def test_a_server_that_cannot_be_sampled_is_an_error(
    server: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ProcessLookupError):
        watched(server, [50], monkeypatch)
