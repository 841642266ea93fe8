"""Builds Prometheus and promtool from the Go module pinned in `tools/`, once per version.

Of the ways in which Prometheus discovers its targets only the one through Kubernetes is built in,
which leaves out most of what it depends on. Its web pages are not in the Go module: what is built
here answers queries, for Grafana and the tests.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from scale_tests.localkube.settings import cache_directory

TOOLS = Path(__file__).with_name("tools")

_MODULE = "github.com/prometheus/prometheus"
_PROGRAMS = ("prometheus", "promtool")
_TAGS = "remove_all_sd,enable_kubernetes_sd"


class BuildError(Exception):
    """The programs could not be built; the message holds the compiler's last words."""


def ensure_built() -> Path:
    """Builds the programs unless they are cached, and returns the directory that they are in.

    Raises:
        BuildError: Go is missing or the module does not compile.
    """
    digest = hashlib.sha256(f"{platform.machine()} {_TAGS}".encode())
    for source in (TOOLS / "go.mod", TOOLS / "go.sum"):
        digest.update(source.read_bytes())
    target = cache_directory() / "bin" / f"prometheus-{digest.hexdigest()[:12]}"
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    # Two who want it at once build it once.
    with (target.parent / ".prometheus.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.is_dir():
            _build(target)
    return target


def _build(target: Path) -> None:
    print("Building Prometheus and promtool (some minutes, the first time)", flush=True)
    partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=target.parent))
    try:
        argv = [
            *("nice", "-n", "5", "go", "build", "-trimpath", "-tags", _TAGS),
            *("-ldflags", "-s -w", "-o", f"{partial}/"),
            *(f"{_MODULE}/cmd/{program}" for program in _PROGRAMS),
        ]
        flags = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false"}
        try:
            done = subprocess.run(
                argv,
                cwd=TOOLS,
                env={**os.environ, **flags},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )
        except FileNotFoundError as error:
            raise BuildError(f"{error.filename} is missing") from None
        if done.returncode != 0:
            raise BuildError("go build failed:\n" + "\n".join(done.stderr.splitlines()[-20:]))
        partial.chmod(0o755)
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
