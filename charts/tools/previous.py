"""The previous release of the chart, from which users upgrade: `previous.tgz`.

The tests upgrade from it, also in clones without history. `python -m charts.tools.previous
REVISION` takes it from git when Chart.yaml gets the next version.
"""

import gzip
import hashlib
import io
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml

from scale_tests.cluster.operator import CHART, tool
from scale_tests.host import files
from scale_tests.host.commands import ROOT, CommandError, ExpectedError, capture, relative
from scale_tests.host.revision import commit, unpack
from scale_tests.localkube import ociarchive

ARCHIVE = Path(__file__).with_name("previous.tgz")
"""That chart, packed."""

_LEFT_OUT = ("dashboards", "tests", "README.md", ".helmignore")
"""An upgrade does not depend on them."""


def version(chart: str) -> str:
    """The version of the chart in a directory."""
    return str(yaml.safe_load((ROOT / chart / "Chart.yaml").read_text())["version"])


def unpacked() -> str:
    """The directory of the previous chart, for helm; unpacked into `build` unless it exists."""
    digest = hashlib.sha256(ARCHIVE.read_bytes()).hexdigest()
    target = ROOT / "build" / "previous-chart" / digest[:12]
    if not target.exists():
        with files.made(target) as partial, tarfile.open(ARCHIVE) as tar:
            tar.extractall(partial, filter="data")
    return str((target / Path(CHART).name).relative_to(ROOT))


def check_version() -> None:
    """Checks that the chart's version follows the previous one. Raises ExpectedError."""
    now, before = version(CHART), version(unpacked())
    if _number(now) <= _number(before):
        raise ExpectedError(f"{CHART} has version {now}, the previous one {before}")


def check_values() -> None:
    """Checks that the chart accepts values of the previous one. Raises CommandError."""
    values = f"{unpacked()}/values.yaml"
    capture([tool("helm"), "template", "x", CHART, "--kube-version", "1.36.0", "--values", values])


def take(revision: str) -> None:
    """Makes the chart of a git revision the previous one. Raises CommandError."""
    with tempfile.TemporaryDirectory() as directory:
        source = unpack(commit(revision), Path(directory))
        ARCHIVE.write_bytes(pack(source / CHART))


def pack(chart: Path) -> bytes:
    """An archive of a chart's directory; the same files give the same archive."""
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as compressed:
        kept = {
            file.relative_to(chart.parent).as_posix(): file.read_bytes()
            for file in sorted(path for path in chart.rglob("*") if path.is_file())
            if file.relative_to(chart).parts[0] not in _LEFT_OUT
        }
        compressed.write(ociarchive.tar(kept, mode=0o644))
    return packed.getvalue()


def main(arguments: Sequence[str]) -> int:
    """Packs the revision on the command line; returns the exit status."""
    try:
        (revision,) = arguments
        take(revision)
    except (CommandError, ValueError) as error:
        print(f"error: {error}; a git revision is wanted", file=sys.stderr)
        return 1
    print(f"{relative(ARCHIVE)}: {version(unpacked())}")
    return 0


def _number(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split("."))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
