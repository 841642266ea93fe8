"""The live page: npm packages by their lock, and the bundle in the operator's package."""

import hashlib
import shutil
from pathlib import Path

from scale_tests.host import files
from scale_tests.host.commands import ROOT, capture

CONSOLE = ROOT / "operator" / "console"
PAGE = ROOT / "operator" / "src" / "partisan_operator" / "console" / "page"

_NOT_SOURCES = ("node_modules", "build", "test")


def ensure_page() -> Path:
    """Bundles the page unless it is up to date. Raises ExpectedError."""
    stamps = CONSOLE / "build"
    # Tests and image builds of one checkout may ask at the same time.
    with files.locked(stamps / "lock"):
        _ensure_packages(stamps / "packages.digest")
        _ensure_bundle(stamps / "page.digest")
    return PAGE


def _ensure_packages(stamp: Path) -> None:
    wanted = hashlib.sha256((CONSOLE / "package-lock.json").read_bytes()).hexdigest()
    if (CONSOLE / "node_modules").exists() and files.is_current(stamp, wanted):
        return
    print("Installing the npm packages of the live page", flush=True)
    stamp.unlink(missing_ok=True)
    capture(["npm", "--prefix", str(CONSOLE), "ci", "--ignore-scripts", "--no-audit", "--no-fund"])
    stamp.write_text(wanted)


def _ensure_bundle(stamp: Path) -> None:
    digest = hashlib.sha256()
    for source in files.below(CONSOLE, _NOT_SOURCES):
        digest.update(f"\0{source.relative_to(CONSOLE)}\0".encode())
        digest.update(source.read_bytes())
    wanted = digest.hexdigest()
    if (PAGE / "index.html").exists() and files.is_current(stamp, wanted):
        return
    made = stamp.with_name("page")
    capture(["node", str(CONSOLE / "build.mjs"), str(made)])
    stamp.unlink(missing_ok=True)
    shutil.rmtree(PAGE, ignore_errors=True)
    made.rename(PAGE)
    stamp.write_text(wanted)
