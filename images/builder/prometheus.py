"""Prometheus and promtool, built from the Go module pinned in `go/`.

With service discovery through Kubernetes alone, and without its web pages.
"""

from __future__ import annotations

from pathlib import Path

from scale_tests.localkube.toolset import Toolset

TOOLSET = Toolset(
    name="prometheus",
    directory=Path(__file__).with_name("go"),
    programs={
        name: f"github.com/prometheus/prometheus/cmd/{name}" for name in ("prometheus", "promtool")
    },
    tags="remove_all_sd,enable_kubernetes_sd",
)


def ensure_built() -> Path:
    """Builds the programs unless cached; returns their directory. Raises BuildError."""
    return TOOLSET.ensure_built()
