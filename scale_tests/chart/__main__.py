"""Lints, renders and unit-tests the chart, and compares its values with their schema."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from scale_tests.harness.commands import ROOT, CommandError, capture, stream
from scale_tests.harness.operator import CHART, tool

TOOLS = "scale_tests/chart/tools"
KUBE_VERSION = "1.36.3"
"""What templates are rendered for; without a cluster, helm would assume its own default."""

VARIANTS: dict[str, list[str]] = {
    "defaults": [],
    "namespaced": ["watchNamespaces={one,two}"],
    "everything": [
        "metrics.podMonitor.enabled=true",
        "metrics.serviceMonitor.enabled=true",
        "podAnnotations.a=b",
        "podLabels.a=b",
        "nodeSelector.a=b",
        "tolerations[0].operator=Exists",
        "priorityClassName=system-cluster-critical",
        "imagePullSecrets[0].name=registry",
        "extraEnv[0].name=A",
        "extraEnv[0].value=b",
        "serviceAccount.annotations.a=b",
        "metrics.service.annotations.a=b",
        "metrics.serviceMonitor.labels.a=b",
        "metrics.podMonitor.labels.a=b",
    ],
    "nothing optional": [
        "crds.enabled=false",
        "rbac.create=false",
        "serviceAccount.create=false",
        "metrics.service.enabled=false",
    ],
}
"""Values that between them reach every branch of the templates."""


class ChartError(Exception):
    """The chart breaks a rule; the message says which value."""


def schema_paths(schema: Mapping[str, Any]) -> set[str]:
    """The dotted paths of all values that the schema names, without the sections they are in."""
    definitions = schema["definitions"]

    def walk(part: Mapping[str, Any], path: str) -> Iterator[str]:
        if "$ref" in part:
            part = definitions[part["$ref"].rpartition("/")[2]]
        if "properties" not in part:
            yield path
        for key, value in part.get("properties", {}).items():
            yield from walk(value, f"{path}.{key}" if path else key)

    return set(walk(schema, "")) - {"global"}


def value_lines(text: str, known: set[str]) -> dict[str, int]:
    """The line, from 0, of each value in values.yaml: a known path, or a leaf that is unknown."""

    def walk(node: yaml.Node, path: str) -> Iterator[tuple[str, int]]:
        assert isinstance(node, yaml.MappingNode)
        for key, value in node.value:
            here = f"{path}.{key.value}" if path else str(key.value)
            if here in known or not isinstance(value, yaml.MappingNode):
                yield here, key.start_mark.line
            else:
                yield from walk(value, here)

    root = yaml.compose(text, yaml.SafeLoader)
    assert root is not None, "values.yaml is empty"
    return dict(walk(root, ""))


def check_values(text: str, schema: Mapping[str, Any]) -> None:
    """Every value is described above its key and known to the schema, and none only there.

    Raises:
        ChartError: one is not; with its name.
    """
    known = schema_paths(schema)
    lines = value_lines(text, known)
    above = [""] + [line.strip() for line in text.splitlines()]
    for path, line in lines.items():
        if path not in known:
            raise ChartError(f"values.schema.json does not know {path}")
        if not above[line].startswith("#"):
            raise ChartError(f"values.yaml:{line + 1}: no comment above {path}")
    if known - lines.keys():
        raise ChartError(f"values.yaml lacks {', '.join(sorted(known - lines.keys()))}")


def main() -> int:
    """Runs all checks; returns the exit status."""
    chart = ROOT / CHART
    try:
        check_values(
            (chart / "values.yaml").read_text(),
            json.loads((chart / "values.schema.json").read_text()),
        )
        helm = tool("helm")
        stream([helm, "lint", "--strict", "--quiet", "--kube-version", KUBE_VERSION, CHART])
        for name, values in VARIANTS.items():
            settings = [argument for value in values for argument in ("--set", value)]
            rendered = capture(
                [helm, "template", "x", CHART, "--kube-version", KUBE_VERSION, *settings]
            )
            objects = [item for item in yaml.safe_load_all(rendered) if item]
            print(f"chart: {name}: {len(objects)} objects")
        stream(["go", "-C", TOOLS, "tool", "helm-unittest", str(chart)])
    except (ChartError, CommandError, FileNotFoundError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
