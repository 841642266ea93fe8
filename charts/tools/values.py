"""Checks values.yaml against its schema: every value is in both, and described."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from scale_tests.host.commands import ExpectedError


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


def written_values(text: str, known: set[str]) -> Iterator[tuple[str, Any, int]]:
    """Each value in values.yaml: a known path or an unknown leaf, its default, its line from 0."""

    def walk(node: yaml.Node | None, content: Any, path: str) -> Iterator[tuple[str, Any, int]]:
        assert isinstance(node, yaml.MappingNode)
        for key, value in node.value:
            here = f"{path}.{key.value}" if path else str(key.value)
            if here in known or not isinstance(value, yaml.MappingNode):
                yield here, content[key.value], key.start_mark.line
            else:
                yield from walk(value, content[key.value], here)

    return walk(yaml.compose(text, yaml.SafeLoader), yaml.safe_load(text), "")


@dataclass(frozen=True, kw_only=True)
class Value:
    """One value of the chart."""

    path: str
    """Dotted path, such as `image.tag`."""

    default: Any
    description: str
    """The comment above its key, as one paragraph."""


def described_values(text: str, schema: Mapping[str, Any]) -> list[Value]:
    """All values of values.yaml in their order.

    Raises ExpectedError unless every value is commented and in the schema, and conversely.
    """
    known, lines, values = schema_paths(schema), text.splitlines(), []
    for path, default, line in written_values(text, known):
        if path not in known:
            raise ExpectedError(f"values.schema.json does not know {path}")
        description = _comment_above(lines, line)
        if not description:
            raise ExpectedError(f"values.yaml:{line + 1}: no comment above {path}")
        values.append(Value(path=path, default=default, description=description))
    if missing := known - {value.path for value in values}:
        raise ExpectedError(f"values.yaml lacks {', '.join(sorted(missing))}")
    return values


def _comment_above(lines: list[str], line: int) -> str:
    comment: list[str] = []
    while line > 0 and lines[line - 1].strip().startswith("#"):
        line -= 1
        comment.insert(0, lines[line].strip().removeprefix("#").strip())
    return " ".join(comment)
