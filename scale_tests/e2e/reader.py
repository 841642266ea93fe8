"""A reader of a page of docs/: types its commands, and compares their output with the page's.

A page has its commands in blocks of the language `sh`. One that is meant to fail bears its exit
status, which the rendered page hides: "```sh exit=1". A block of the language `text` right after
one of commands is an excerpt of their output.
"""

import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.host.commands import ROOT, CommandError, capture

REGISTRY = "registry.example.com/partisan"
"""The pages' placeholder for the reader's registry."""

_BLOCK = re.compile(
    r"^```sh(?: exit=(?P<status>\d+))?\n(?P<commands>.*?)^```$"
    r"(?:\n+^```text\n(?P<shown>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
_FIGURE = re.compile(r"\b[0-9a-f]{12}\b|\b(?:\d+[dhms])+\b|\d+(?:[.,]\d+)*")
_ELISION = "..."


@dataclass(frozen=True, kw_only=True)
class Block:
    """Commands that are typed together, the status they end with, and what the page shows."""

    commands: str
    status: int = 0
    shown: str = ""


def blocks(page: Path, heading: str) -> list[Block]:
    """The commands of the page's section with this heading (numbers left out), in their order."""
    pattern = rf"^## (?:\d+\. )?{re.escape(heading)}\n(.*?)(?=^## |\Z)"
    (section,) = re.findall(pattern, page.read_text(), re.MULTILINE | re.DOTALL)
    return [
        Block(
            commands=found["commands"],
            status=int(found["status"] or 0),
            shown=found["shown"] or "",
        )
        for found in _BLOCK.finditer(section)
    ]


def unseen(shown: str, written: str) -> list[str]:
    """The lines a page shows that were not written, apart from figures, times and spacing.

    A line that is `...` stands for any.
    """
    lines = {_shape(line) for line in written.splitlines()}
    wanted = [line for line in shown.splitlines() if line.strip() not in ("", _ELISION)]
    return [line for line in wanted if _shape(line) not in lines]


class Reader:
    """A user with helm, kubectl and its plugin, in a directory of their own.

    `replacing` holds the replacements for texts of the page.
    """

    def __init__(
        self,
        environment: Environment,
        directory: Path,
        *,
        namespace: str,
        replacing: Mapping[str, str] | None = None,
    ) -> None:
        registry = environment.operator_image.rpartition("/")[0]
        self._replacing = {REGISTRY: registry, **(replacing or {})}
        # A context of his own, in which he chooses the namespace.
        config = directory / "kubeconfig"
        config.write_bytes(environment.kubeconfig.read_bytes())
        programs = directory / "programs"
        programs.mkdir()
        for name in ("helm", "kubectl"):
            (programs / name).symlink_to(operator.tool(name))
        install_plugin(programs)
        self._environment = {
            "KUBECONFIG": str(config),
            "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": str(ROOT / "operator" / "src"),
        }
        self.types(f"kubectl config set-context --current --namespace={namespace}")

    def types(self, commands: str, *, directory: Path = ROOT) -> str:
        """Runs commands in a shell and returns what they wrote. Raises CommandError."""
        script = f"exec 2>&1\ncd {shlex.quote(str(directory))}\n{self._own(commands)}"
        return capture(["bash", "-euo", "pipefail", "-c", script], env=self._environment)

    def follows(self, block: Block, *, directory: Path = ROOT) -> str:
        """Types a block, and returns what was written.

        Raises:
            CommandError: it ended with another status than the page says.
            AssertionError: what the page shows was not written; with what was.
        """
        try:
            status, written = 0, self.types(block.commands, directory=directory)
        except CommandError as error:
            if error.status != block.status:
                raise
            status, written = error.status, error.output
        assert status == block.status, f"{block.commands} ended with status {status}: {written}"
        missing = unseen(self._own(block.shown), written)
        assert not missing, f"{block.commands} has not shown {missing}, but:\n{written}"
        return written

    def _own(self, text: str) -> str:
        for placeholder, own in self._replacing.items():
            text = text.replace(placeholder, own)
        return text


def install_plugin(programs: Path) -> None:
    """Makes the plugin of this checkout a program in `programs`, as kubectl finds a user's.

    Who runs it sets `PYTHONPATH` to the operator's sources.
    """
    plugin = programs / "kubectl-partisan"
    plugin.write_text(f'#!/bin/sh\nexec {sys.executable} -m partisan_operator.cli.main "$@"\n')
    plugin.chmod(0o755)


def _shape(line: str) -> str:
    return " ".join(_FIGURE.sub("#", line).split())
