"""Manifests checked against the CRD's schema, as the API server does before it evaluates rules."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from partisan_operator.models.cluster import API_VERSIONS, KIND

from docs.tools.api import stored_schema

Schema = Mapping[str, Any]

_TYPES: dict[str, type | tuple[type, ...]] = {
    "array": list,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "object": dict,
    "string": str,
}
_LIMITS = (
    ("minimum", lambda value, limit: value >= limit),
    ("maximum", lambda value, limit: value <= limit),
    ("minLength", lambda value, limit: len(value) >= limit),
    ("maxLength", lambda value, limit: len(value) <= limit),
    ("minItems", lambda value, limit: len(value) >= limit),
    ("maxItems", lambda value, limit: len(value) <= limit),
    ("pattern", lambda value, limit: re.search(limit, value) is not None),
    ("enum", lambda value, limit: value in limit),
)


def yaml_problems(text: str) -> Iterator[str]:
    """Problems of YAML of a page: whole manifests, `spec` alone, or some of its fields."""
    for document in yaml.safe_load_all(text):
        if not isinstance(document, dict):
            yield f"no object: {document!r}"
        elif "kind" not in document:
            part = document if document.keys() <= {"spec", "status"} else {"spec": document}
            yield from part_problems(part)
        elif document["kind"] == KIND:
            yield from part_problems({k: v for k, v in document.items() if k != "metadata"})
            if document.get("apiVersion") not in API_VERSIONS:
                yield f"apiVersion: {document.get('apiVersion')}"
        elif not {"apiVersion", "metadata"} <= document.keys():
            yield f"{document['kind']}: apiVersion or metadata is missing"


def part_problems(part: Mapping[str, Any]) -> Iterator[str]:
    """Problems of a manifest that may lack fields at its top."""
    yield from problems(part, {**stored_schema(), "required": ()})


def problems(value: Any, schema: Schema, path: str = "") -> Iterator[str]:
    """Reasons to refuse a value by a structural schema: fields, types and bounds."""
    if schema.get("x-kubernetes-int-or-string"):
        if not isinstance(value, int | str) or isinstance(value, bool):
            yield f"{path}: {value!r} is neither an integer nor a string"
        return
    kind = _TYPES[schema["type"]]
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        yield f"{path}: {value!r} is no {schema['type']}"
        return
    for name, holds in _LIMITS:
        if name in schema and not holds(value, schema[name]):
            yield f"{path}: {value!r} breaks {name} {schema[name]}"
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from problems(item, schema["items"], f"{path}[{index}]")
    elif isinstance(value, dict) and "properties" in schema:
        yield from (f"{path}.{n} is missing" for n in schema.get("required", ()) if n not in value)
        for name, item in value.items():
            below = schema["properties"].get(name)
            if below is None:
                yield f"{path}.{name} is unknown"
            else:
                yield from problems(item, below, f"{path}.{name}")
    elif isinstance(value, dict) and isinstance(schema.get("additionalProperties"), dict):
        for name, item in value.items():
            yield from problems(item, schema["additionalProperties"], f"{path}.{name}")


def schema_at(path: str) -> Schema | None:
    """The schema of a field such as `spec.overlay.kind` or `spec.channels[].name`; None if none.

    Keys of maps, and fields of objects that Kubernetes defines, are not checked.
    """
    schema = stored_schema()
    for name in filter(None, re.split(r"[.\[\]\d*]+", path)):
        while "items" in schema:
            schema = schema["items"]
        if "properties" not in schema:
            return schema if schema["type"] == "object" else None
        if name not in schema["properties"]:
            return None
        schema = schema["properties"][name]
    return schema
