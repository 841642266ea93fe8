"""Erlang virtual machines that measure: their flags, and how a plan reaches them."""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scale_tests import otp
from scale_tests.host import commands
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
    """The flags of the release that concern speed and memory."""
    return parse(VM_ARGS.read_text(), START_SCRIPT.read_text())


def parse(vm_args: str, start_script: str) -> Flags:
    """The emulator flags of a vm.args file, and the settings of malloc of a start script."""
    lines = (line.strip() for line in vm_args.splitlines())
    arguments = [word for line in lines if line.startswith("+") for word in line.split()]
    exports = re.findall(r'^export (MALLOC_\w+)="\$\{\w+-(\d+)\}"$', start_script, re.MULTILINE)
    return Flags(name="release", arguments=tuple(arguments), environment=tuple(exports))


def build() -> Path:
    """The directory of the compiled applications, that of `otp.compile_runtime`."""
    return Path(os.environ.get("REBAR_BASE_DIR", otp.RUNTIME / "_build"))


def lines(module: str, plan: str, *, flags: Flags = STOCK) -> Iterator[str]:
    """Runs `module:main/1` with a file that holds the plan; yields its lines of output.

    Raises CommandError when it ends with an error, after its lines.
    """
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        file = Path(directory, "plan")
        file.write_text(plan)
        paths = sorted(str(path) for path in build().glob("default/lib/*/ebin"))
        argv = ["erl", *flags.arguments, "-noshell", "-pa", *paths]
        argv += ["-run", module, "main", str(file)]
        yield from commands.lines(argv, cwd=Path(directory), env=dict(flags.environment))


def term(value: Mapping[str, Any] | Sequence[Any] | str | float | bool) -> str:
    """A value as an Erlang term.

    A string is a term as it is, such as an atom; a sequence is a list of strings, or of maps.
    """
    match value:
        case Mapping():
            return "#{" + ", ".join(f"{key} => {term(own)}" for key, own in value.items()) + "}"
        case bool():
            return str(value).lower()
        case str() | int() | float():
            return str(value)
        case _:
            own = (term(one) if isinstance(one, Mapping) else f'"{one}"' for one in value)
            return f"[{', '.join(own)}]"
