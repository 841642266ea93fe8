"""The directory that the demo puts on the PATH."""

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from scale_tests.benches.demo import programs


def test_plugin_and_pinned_programs_are_found_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned = tmp_path / "pinned"
    pinned.mkdir()
    (pinned / "helm").write_text("#!/bin/sh\necho helm $1\n")
    (pinned / "helm").chmod(0o755)
    monkeypatch.setattr(programs, "TOOLSET", SimpleNamespace(bin_directory=pinned))
    directory = programs.provide(tmp_path / "bin")
    variables = {**os.environ, "PATH": f"{directory}:{os.environ['PATH']}"}

    def run(*command: str) -> str:
        return subprocess.run(
            command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=True
        ).stdout

    assert run("helm", "version") == "helm version\n"
    assert "must-gather" in run("kubectl-partisan", "--help")
    assert not (directory / "kubectl").exists()
