"""Prometheus and promtool, built from the Go module pinned in `go/`.

With service discovery through Kubernetes alone, and without its web pages.
"""

import shutil
from pathlib import Path

from scale_tests.host.commands import ROOT
from scale_tests.localkube.toolset import Toolset

PROGRAM = ROOT / "build" / "prometheus" / "prometheus"

TOOLSET = Toolset(
    name="prometheus",
    directory=Path(__file__).with_name("go"),
    programs={
        name: f"github.com/prometheus/prometheus/cmd/{name}" for name in ("prometheus", "promtool")
    },
    tags="remove_all_sd,enable_kubernetes_sd",
)


def provide() -> None:
    """Puts Prometheus where its Dockerfile copies it from. Raises ExpectedError: no build."""
    built = TOOLSET.ensure_built() / "prometheus"
    if not PROGRAM.exists() or PROGRAM.stat().st_mtime < built.stat().st_mtime:
        PROGRAM.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(built, PROGRAM)
