"""The chart as it was released last, which users upgrade from; `previous/` holds it.

The tests upgrade from it, in clones without history too. `python -m scale_tests.chart.previous
REVISION` takes it from git, whenever Chart.yaml gets the next version. Dashboards, unit tests and
pages are left out: an upgrade does not depend on what they say.
"""

from __future__ import annotations

import shutil
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml

from scale_tests.chart.values import ChartError
from scale_tests.harness.commands import ROOT, CommandError, capture
from scale_tests.harness.operator import CHART, tool

PREVIOUS = f"scale_tests/chart/previous/{Path(CHART).name}"
"""The directory of that chart, for helm."""

_LEFT_OUT = ("dashboards", "tests", "README.md", ".helmignore")


def version(chart: str) -> str:
    """The version of the chart in a directory."""
    return str(yaml.safe_load((ROOT / chart / "Chart.yaml").read_text())["version"])


def check_version() -> None:
    """The chart comes after the one before it. Raises ChartError."""
    if _number(version(CHART)) <= _number(version(PREVIOUS)):
        raise ChartError(f"{CHART} has version {version(CHART)}, {PREVIOUS} {version(PREVIOUS)}")


def check_values() -> None:
    """The chart takes the values that users have of the previous one.

    Raises:
        CommandError: helm refuses them, or to render with them.
    """
    values = f"{PREVIOUS}/values.yaml"
    capture([tool("helm"), "template", "x", CHART, "--kube-version", "1.36.0", "--values", values])


def take(revision: str) -> None:
    """Makes the chart of a git revision the previous one. Raises CommandError."""
    with tempfile.TemporaryDirectory() as directory:
        archive = Path(directory) / "chart.tar"
        capture(["git", "archive", f"--output={archive}", revision, CHART])
        with tarfile.open(archive) as tar:
            tar.extractall(directory, filter="data")
        taken = Path(directory) / CHART
        shutil.rmtree(ROOT / PREVIOUS, ignore_errors=True)
        shutil.copytree(taken, ROOT / PREVIOUS, ignore=shutil.ignore_patterns(*_LEFT_OUT))


def main(arguments: Sequence[str]) -> int:
    """Takes the revision that the command line names; returns the exit status."""
    try:
        (revision,) = arguments
        take(revision)
    except (CommandError, ValueError) as error:
        print(f"error: {error}; a git revision is wanted", file=sys.stderr)
        return 1
    print(f"{PREVIOUS}: {version(PREVIOUS)}")
    return 0


def _number(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
