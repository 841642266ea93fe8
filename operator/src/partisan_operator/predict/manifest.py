"""A PartisanCluster from a file, checked as far as possible without an API server.

The models check types and bounds, the schema knows every field. Only the API server evaluates rules
across fields (CEL): `kubectl apply --dry-run=server`.
"""

import difflib
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from partisan_operator.models import PartisanCluster, PartisanClusterSpec
from partisan_operator.models.cluster import API_VERSIONS, KIND
from partisan_operator.models.crd import MAX_NAME, schema_of
from partisan_operator.models.names import LABEL
from partisan_operator.models.quantities import duration_rule, milliseconds

_PLAIN: dict[str, type[int | bool]] = {"integer": int, "boolean": bool}
"""Types of a schema that the models accept other values for, such as "8" for 8."""


class ManifestError(ValueError):
    """The file has no valid cluster; the text names each field."""


def load(text: str, *, namespace: str = "default") -> PartisanCluster:
    """Read the one PartisanCluster in YAML or JSON; other objects are ignored.

    Raises `ManifestError`.
    """
    try:
        documents = [each for each in yaml.safe_load_all(text) if isinstance(each, dict)]
    # ValueError of a date such as 2026-99-99, RecursionError of lists within lists.
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ManifestError(f"not YAML: {' '.join(str(error).split())}") from None
    clusters = [each for each in documents if each.get("kind") == KIND]
    if len(clusters) != 1:
        raise ManifestError(f"there are {len(clusters)} objects of kind {KIND}: give one")
    return cluster_of(clusters[0], namespace=namespace)


def cluster_of(manifest: dict[str, Any], *, namespace: str = "default") -> PartisanCluster:
    """Return the cluster of a manifest that was not applied.

    Raises `ManifestError`.
    """
    metadata, spec = manifest.get("metadata") or {}, manifest.get("spec") or {}
    problems = [*_problems_of_names(manifest, metadata), *_problems_of_spec(spec)]
    if problems:
        raise ManifestError("\n".join(problems))
    return PartisanCluster.from_wire(
        {
            "metadata": {
                "namespace": metadata.get("namespace") or namespace,
                "name": metadata["name"],
                # The API server would add these; the simulation does not depend on them.
                "uid": "",
                "generation": 1,
                "creationTimestamp": "",
            },
            "spec": spec,
        }
    )


def _problems_of_names(manifest: dict[str, Any], metadata: Any) -> Iterator[str]:
    if manifest.get("apiVersion") not in API_VERSIONS:
        yield f"apiVersion: {manifest.get('apiVersion')!r} is not {' or '.join(API_VERSIONS)}"
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str):
        yield "metadata.name: give the cluster a name"
    elif len(name) > MAX_NAME or not re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name):
        yield (
            f"metadata.name: {name!r} must have at most {MAX_NAME} characters, start with a letter"
            " and hold only lower-case letters, digits and dashes"
        )
    namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
    if namespace and not (
        isinstance(namespace, str) and len(namespace) <= 63 and re.fullmatch(LABEL, namespace)
    ):
        yield (
            f"metadata.namespace: {namespace!r} must have at most 63 characters, and hold only"
            " lower-case letters, digits and dashes"
        )


def _problems_of_spec(spec: Any) -> Iterator[str]:
    yield from _problems_of_fields("spec", spec, schema_of(PartisanClusterSpec))
    try:
        PartisanClusterSpec.model_validate(spec)
    except ValidationError as error:
        for problem in error.errors(include_url=False):
            yield f"{_path('spec', problem['loc'])}: {problem['msg']}"


def _problems_of_fields(path: str, value: Any, schema: dict[str, Any]) -> Iterator[str]:
    """Yield unknown fields, values of other types, and invalid durations."""
    known, plain = schema.get("properties"), _PLAIN.get(schema.get("type", ""))
    if isinstance(value, dict) and known is not None:
        for name, member in value.items():
            if name in known:
                yield from _problems_of_fields(f"{path}.{name}", member, known[name])
            else:
                close = difflib.get_close_matches(str(name), known, n=1)
                advice = (
                    f"did you mean {close[0]}?" if close else f"choose one of {', '.join(known)}"
                )
                yield f"{path}.{name}: there is no such field: {advice}"
    elif isinstance(value, list) and "items" in schema:
        for index, member in enumerate(value):
            yield from _problems_of_fields(f"{path}[{index}]", member, schema["items"])
    elif plain is not None and isinstance(value, str | int) and type(value) is not plain:
        # The models convert it, if they can; the API server does not.
        with suppress(ValidationError):
            meant = json.dumps(TypeAdapter(plain).validate_python(value))
            yield f"{path}: {value!r} is of another type than {schema['type']}: write {meant}"
    elif isinstance(value, str) and (rule := duration_rule(schema)) is not None:
        least, most, message = rule
        try:
            if not milliseconds(least) <= milliseconds(value) <= milliseconds(most):
                yield f"{path}: {value!r} {message}"
        except ValueError as error:
            yield f"{path}: {error}"


def _path(root: str, location: tuple[int | str, ...]) -> str:
    return root + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
