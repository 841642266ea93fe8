"""Checks of the commands that documents show, without running them.

A command of this project (the plugin, make, a module of Python) is parsed as it would be; of other
programs the arguments are checked that name something of this project: fields, values, paths.
"""

import argparse
import contextlib
import importlib.util
import io
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from partisan_operator.cli import parser as plugin
from partisan_operator.models.status import ConditionType

from charts.tools.values import schema_paths
from docs.tools import manifests
from docs.tools.shell import Command
from images.builder.__main__ import KNOWN
from images.builder.__main__ import parser as images_parser
from scale_tests.cluster.operator import CHART
from scale_tests.host.commands import ROOT
from scale_tests.localkube.__main__ import parser as localkube_parser

MAKEFILE = ROOT / "Makefile"

OTHERS = {
    "base64", "cd", "curl", "docker", "dot", "echo", "export", "grep", "gzip", "kill", "ln",
    "mkdir", "openssl", "pip", "pytest", "rebar3", "sleep", "tar",
}  # fmt: skip
"""Other programs that pages may use. A new one belongs here once its arguments are thought of."""

VERBS = {
    "annotate", "apply", "auth", "config", "create", "delete", "describe", "drain", "exec",
    "explain", "get", "krew", "label", "logs", "patch", "plugin", "port-forward", "rollout",
    "scale", "wait",
}  # fmt: skip
"""Commands of kubectl that pages use."""

_OF_REPOSITORY = re.compile(r"^(?:charts|crds|docs|erlang_node|examples|images|operator)/[\w./-]+$")
_ARCHIVE = re.compile(r"^build/images/(.+)\.tar$")
_FIELD = re.compile(r"\.((?:spec|status)\.[\w.\[\]*]+)")
_CLUSTER = re.compile(r"^(?:pcl|partisanclusters?)(?:/|$)")


def problems(command: Command) -> Iterator[str]:
    """Problems of a command."""
    program, *arguments = command.words
    name = Path(program).name
    yield from _paths(arguments)
    if check := _CHECKS.get(name):
        yield from check(arguments, command.stdin)
    elif name.startswith("partisan_"):
        if not (ROOT / "erlang_node/scripts" / name).exists():
            yield f"no script {name}"
    elif name not in OTHERS:
        yield f"unknown program {name}"


def _paths(arguments: list[str]) -> Iterator[str]:
    for word in arguments:
        if _OF_REPOSITORY.match(word) and not (ROOT / word).exists():
            yield f"no file {word}"
        found = _ARCHIVE.match(word)
        if found and found[1] not in {*KNOWN, "rumours"}:
            yield f"no image {found[1]}"


def _make(arguments: list[str], _stdin: str) -> Iterator[str]:
    text = MAKEFILE.read_text()
    targets = set(re.findall(r"^([a-z0-9-]+):", text, re.MULTILINE))
    for word in arguments:
        variable, isset, _ = word.partition("=")
        if isset and not re.search(rf"\b{variable}\b", text):
            yield f"make knows no variable {variable}"
        if not isset and not word.startswith(("-", ".")) and word not in targets:
            yield f"make knows no target {word}"


def _kubectl(arguments: list[str], stdin: str) -> Iterator[str]:
    if arguments[0] == "partisan":
        yield from _parsed(plugin.build(), arguments[1:])
        return
    verb = arguments[0]
    if verb not in VERBS:
        yield f"kubectl {verb} is on no other page"
    if verb == "apply" and stdin:
        yield from manifests.yaml_problems(stdin)
    if not any(map(_CLUSTER.match, arguments)):
        return
    for word in arguments:
        yield from _expectation(word)
        for field in _FIELD.findall(word):
            if manifests.schema_at(field.rstrip(".")) is None:
                yield f"the API has no field {field}"
    if verb == "patch":
        yield from _patch(json.loads(arguments[arguments.index("-p") + 1]))


def _patch(patch: Any) -> Iterator[str]:
    """Problems of a merge patch, or of the paths of a JSON patch."""
    if isinstance(patch, dict):
        yield from manifests.part_problems(patch)
        return
    for path in (operation["path"] for operation in patch):
        if manifests.schema_at(path.strip("/").replace("/", ".")) is None:
            yield f"the API has no field {path}"


def _expectation(word: str) -> Iterator[str]:
    """Problems of a `--for`: its condition, or its value of a field."""
    condition = re.match(r"--for=condition=(\w+)", word)
    if condition and condition[1] not in list(ConditionType):
        yield f"no condition {condition[1]}"
    value = re.match(r"--for=jsonpath=\{\.([\w.]+)\}=(.+)", word)
    schema = manifests.schema_at(value[1]) if value else None
    if value and schema and value[2] not in schema.get("enum", [value[2]]):
        yield f"{value[1]} is never {value[2]}"


def _helm(arguments: list[str], _stdin: str) -> Iterator[str]:
    if CHART not in arguments:
        return
    for flag, setting in pairwise(arguments):
        if flag in ("--set", "--set-string"):
            for assignment in setting.split(","):
                yield from value_problems(assignment.partition("=")[0])


def value_problems(path: str) -> Iterator[str]:
    """Whether the chart has a value, or a map that the path leads into."""
    names = path.split(".")
    above = {".".join(names[: end + 1]) for end in range(len(names))}
    if not above & _values():
        yield f"the chart has no value {path}"


@cache
def _values() -> set[str]:
    return schema_paths(json.loads((ROOT / CHART / "values.schema.json").read_text()))


def _python(arguments: list[str], _stdin: str) -> Iterator[str]:
    if arguments[0] != "-m":
        yield f"python runs no module: {' '.join(arguments)}"
        return
    _, module, *rest = arguments
    # A directory of the reader's.
    rest = [re.sub("^~/.*", str(ROOT / "examples/own-workload"), word) for word in rest]
    if importlib.util.find_spec(module) is None:
        yield f"no module {module}"
    elif module in _MODULES:
        yield from _parsed(_MODULES[module](), rest)


def _parsed(parser: argparse.ArgumentParser, arguments: list[str]) -> Iterator[str]:
    """The error that a parser reports."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            parser.parse_args([word.removesuffix("...") for word in arguments])
    except SystemExit as error:
        if error.code:
            yield said.getvalue().strip().splitlines()[-1]


_CHECKS: dict[str, Callable[[list[str], str], Iterator[str]]] = {
    "helm": _helm,
    "kubectl": _kubectl,
    "make": _make,
    "python": _python,
    "python3": _python,
}
_MODULES = {"images.builder": images_parser, "scale_tests.localkube": localkube_parser}
