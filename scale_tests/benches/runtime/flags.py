"""The emulator's flags that the benchmark runs with: the release's own, and none."""

from __future__ import annotations

import re
from dataclasses import dataclass

from scale_tests.host.commands import ROOT

VM_ARGS = ROOT / "erlang_node" / "config" / "vm.args"
START_SCRIPT = ROOT / "erlang_node" / "scripts" / "partisan_node"


@dataclass(frozen=True, kw_only=True)
class Flags:
    """A named set of emulator arguments and environment variables."""

    name: str
    arguments: tuple[str, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


STOCK = Flags(name="stock")


def release() -> Flags:
    """What the release is started with, as far as it is about speed and memory."""
    return parse(VM_ARGS.read_text(), START_SCRIPT.read_text())


def parse(vm_args: str, start_script: str) -> Flags:
    """The emulator flags of a vm.args file, and the settings of malloc of a start script."""
    lines = (line.strip() for line in vm_args.splitlines())
    arguments = [word for line in lines if line.startswith("+") for word in line.split()]
    exports = re.findall(r'^export (MALLOC_\w+)="\$\{\w+-(\d+)\}"$', start_script, re.MULTILINE)
    return Flags(name="release", arguments=tuple(arguments), environment=tuple(exports))
