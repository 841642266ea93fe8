"""Prometheus and promtool, built from the Go module pinned in `go/`.

Of the ways in which Prometheus discovers its targets only the one through Kubernetes is built in,
which leaves out most of what it depends on. Its web pages are not in the Go module: what is built
here answers queries, for Grafana and the tests.
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
    """Builds the programs unless they are cached, and returns the directory that they are in.

    Raises BuildError: Go is missing or the module does not compile.
    """
    return TOOLSET.ensure_built()
