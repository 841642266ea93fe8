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
    source, python = shlex.quote(str(ROOT / "operator" / "src")), shlex.quote(sys.executable)
    # On a cluster of one's own, the user's own kubectl and helm are on the PATH already.
    pinned = [TOOLSET.bin_directory / name for name in ("kubectl", "helm")]
    # For `kubectl partisan plan`; it says itself when the runtime is not compiled.
    plan = ROOT / "erlang_node" / "scripts" / "partisan_plan"
    commands = {file.name: shlex.quote(str(file)) for file in (*filter(Path.exists, pinned), plan)}
    for name, module in _PLUGIN.items():
        commands[name] = f"env PYTHONPATH={source} {python} -m {module}"
    directory.mkdir(parents=True, exist_ok=True)
    for name, command in commands.items():
        (directory / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (directory / name).chmod(0o755)
    return directory
