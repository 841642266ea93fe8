"""The operator's Python packages, fetched once and checked against the locked hashes."""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

from images.builder.tools import run
from scale_tests.host.commands import ROOT

REQUIREMENTS = ROOT / "operator" / "requirements.txt"
WHEELS = ROOT / "build" / "wheels"

PYTHON_VERSION = "3.11"
"""The image's Python version, independent of the local one."""


def ensure_wheels() -> Path:
    """Fetches the wheels of the operator's requirements unless present. Raises ImageError."""
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    stamp = WHEELS / ".digest"
    if stamp.exists() and stamp.read_text() == wanted:
        return WHEELS
    print("  fetching the operator's Python packages", flush=True)
    shutil.rmtree(WHEELS, ignore_errors=True)
    WHEELS.mkdir(parents=True)
    run(
        [
            *(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"),
            *("--only-binary=:all:", f"--python-version={PYTHON_VERSION}"),
            *("--require-hashes", "-r", str(REQUIREMENTS), "--dest", str(WHEELS)),
        ]
    )
    stamp.write_text(wanted)
    return WHEELS
