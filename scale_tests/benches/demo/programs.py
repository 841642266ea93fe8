"""The plugin of kubectl, and the local cluster's `kubectl` and `helm`: a directory for a PATH."""

import shlex
import sys
from pathlib import Path

from scale_tests.host.commands import ROOT
from scale_tests.localkube.build import TOOLSET

_PLUGIN = {
    "kubectl-partisan": "partisan_operator.cli.main",
    "kubectl_complete-partisan": "partisan_operator.cli.completion",
}
"""The plugin's programs, each with its module; kubectl finds them by these names."""


def provide(directory: Path = ROOT / "build" / "bin") -> Path:
    """Makes the directory, and returns it."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("kubectl", "helm"):
        # On a cluster of one's own, the user's own are on the PATH already.
        if (pinned := TOOLSET.bin_directory / name).exists():
            _write(directory / name, shlex.quote(str(pinned)))
    source = shlex.quote(str(ROOT / "operator" / "src"))
    for name, module in _PLUGIN.items():
        _write(
            directory / name, f"env PYTHONPATH={source} {shlex.quote(sys.executable)} -m {module}"
        )
    # For `kubectl partisan plan`; it says itself when the runtime is not compiled.
    _write(
        directory / "partisan_plan", shlex.quote(str(ROOT / "erlang_node/scripts/partisan_plan"))
    )
    return directory


def _write(file: Path, command: str) -> None:
    file.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    file.chmod(0o755)
