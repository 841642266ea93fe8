"""The operator's Python packages, fetched once and checked against the locked hashes."""

import hashlib
import re
import shutil
import sys
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from scale_tests.host import files
from scale_tests.host.commands import ROOT, capture

REQUIREMENTS = ROOT / "operator" / "requirements.txt"
WHEELS = ROOT / "build" / "wheels"

PYTHON_VERSION = "3.11"
"""The image's Python version, independent of the local one."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """A Python, on this machine or elsewhere, and the packages of the lock that it gets."""

    name: str = ""
    """Names its directory; empty for the image's own."""

    python: str = PYTHON_VERSION
    platforms: tuple[str, ...] = ()
    """The platforms in names of wheels, such as `macosx_11_0_arm64`; none for this machine's."""

    packages: Collection[str] = ()
    """Names; none for all packages."""

    @property
    def directory(self) -> Path:
        """Where its wheels are."""
        return WHEELS.with_name(f"{WHEELS.name}-{self.name}") if self.name else WHEELS


IMAGE = Target()
ARM64 = Target(
    name="arm64",
    platforms=tuple(f"manylinux{glibc}_aarch64" for glibc in ("2014", "_2_17", "_2_28", "_2_34")),
)
"""The operator's image, for this machine and for arm64."""


def ensure_wheels(target: Target = IMAGE) -> Path:
    """Fetches the wheels of the operator's requirements unless present. Raises ExpectedError."""
    requirements = locked(REQUIREMENTS.read_text(), target.packages)
    wanted = hashlib.sha256(requirements.encode()).hexdigest()
    directory = target.directory
    stamp = directory / ".digest"
    if files.is_current(stamp, wanted):
        return directory
    print(f"  fetching the operator's Python packages {target.name}".rstrip(), flush=True)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    file = directory / "requirements.txt"
    file.write_text(requirements)
    capture(
        [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
            *("--only-binary=:all:", f"--python-version={target.python}"),
            *(f"--platform={platform}" for platform in target.platforms),
            *("--require-hashes", "-r", str(file), "--dest", str(directory)),
        ]
    )
    file.unlink()
    stamp.write_text(wanted)
    return directory


def locked(requirements: str, packages: Collection[str]) -> str:
    """The lines of a lock about packages, with their hashes; the whole lock for none."""
    if not packages:
        return requirements
    blocks = re.finditer(r"^(\S+)==.*(?:\n[ \t]+.*)*\n", requirements, re.MULTILINE)
    found = {block[1]: block[0] for block in blocks if block[1] in packages}
    if missing := set(packages) - set(found):
        raise ValueError(f"the lock has no {', '.join(sorted(missing))}")
    return "".join(found.values())
