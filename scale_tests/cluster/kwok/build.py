"""KWOK's controller, built from the Go module pinned in `tools/`."""

from __future__ import annotations

from pathlib import Path

from scale_tests.localkube.build import module_version
from scale_tests.localkube.toolset import Toolset

TOOLSET = Toolset(
    name="kwok",
    directory=Path(__file__).with_name("tools"),
    programs={"kwok": "sigs.k8s.io/kwok/cmd/kwok"},
)


def version() -> str:
    """The version of KWOK. Raises BuildError."""
    return module_version("sigs.k8s.io/kwok", (TOOLSET.directory / "go.mod").read_text())


def ensure_built() -> Path:
    """Builds the program unless cached; returns its directory. Raises BuildError."""
    return TOOLSET.ensure_built()
