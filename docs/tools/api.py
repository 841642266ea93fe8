"""Writes the tables of docs/reference/api.md from the CRD: every field, its type, its rules.

`python -m docs.tools.api` writes; a test compares.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from docs.tools.site_text import anchor
from scale_tests.cluster import crd
from scale_tests.host.commands import ROOT
from scale_tests.host.documents import with_part
from scale_tests.measure.page import row

PAGE = ROOT / "docs/reference/api.md"

LONGEST = 9
"""Fields of an object that stand in the table of its parent; one with more has its own."""

Schema = Mapping[str, Any]


def stored_schema() -> Schema:
    """The schema of the version that is stored."""
    versions = crd.definition()["spec"]["versions"]
    (stored,) = (version for version in versions if version["storage"])
    schema: Schema = stored["schema"]["openAPIV3Schema"]
    return schema


class Page:
    """The tables of a schema, in the order of its fields."""

    def __init__(self, schema: Schema) -> None:
        self.lines: list[str] = []
        self._times = Counter(_fields(each) for each in _objects(schema))
        self._places: dict[str, str] = {}
        """The path of the table of an object, by its fields: equal objects share one."""

    def section(self, path: str, schema: Schema) -> None:
        """Adds the table of an object, then those of the objects in it that have their own."""
        below: list[tuple[str, Schema]] = []
        rows = list(self._rows(path, schema, below))
        heading = "##" if "." not in path else "###"
        self.lines += [f"{heading} `{path}`", "", schema["description"], ""]
        if rules := _rules(schema):
            self.lines += ["| rules |", "|---|", *(row([rule]) for rule in rules), ""]
        self.lines += ["| field | type | default | meaning |", "|---|---|---|---|", *rows, ""]
        for place, child in below:
            self.section(place, child)

    def _rows(
        self, path: str, schema: Schema, below: list[tuple[str, Schema]], within: str = ""
    ) -> Iterator[str]:
        """Rows of an object's fields, named from `path`; gathers `below` what has a table."""
        for name, child in schema["properties"].items():
            required = name in schema.get("required", ())
            place, content = _object(f"{within}{name}", child)
            if not content or not self._has_table(content):
                yield _row(f"{within}{name}", child, required=required)
                if content:
                    yield from self._rows(path, content, below, f"{place}.")
                continue
            fields = _fields(content)
            if fields not in self._places:
                self._places[fields] = f"{path}.{place}"
                below.append((f"{path}.{place}", content))
            yield _row(f"{within}{name}", child, required=required, table=self._places[fields])

    def _has_table(self, schema: Schema) -> bool:
        size = _size(schema)
        return size > LONGEST or (size > 2 and self._times[_fields(schema)] > 1)


def tables(schema: Schema) -> str:
    """The tables of spec and status."""
    page = Page(schema)
    for name in ("spec", "status"):
        page.section(name, schema["properties"][name])
    return "\n".join(page.lines).strip()


def generated(text: str) -> str:
    """The page with generated tables. Raises ValueError without the marks of their place."""
    return with_part(text, "fields", tables(stored_schema()))


def _object(path: str, schema: Schema) -> tuple[str, Schema]:
    """The object that a field is, or a list of; its path; an empty object for other fields."""
    while "items" in schema:
        path, schema = f"{path}[]", schema["items"]
    return path, schema if "properties" in schema else {}


def _objects(schema: Schema) -> Iterator[Schema]:
    """All objects below an object."""
    for name, child in schema["properties"].items():
        _, content = _object(name, child)
        if content:
            yield content
            yield from _objects(content)


def _fields(schema: Schema) -> str:
    """The fields of an object, by which it is recognised; its description may differ."""
    return json.dumps(schema["properties"], sort_keys=True)


def _size(schema: Schema) -> int:
    """The number of fields of an object, and below it."""
    return len(schema["properties"]) + sum(len(each["properties"]) for each in _objects(schema))


def _row(name: str, schema: Schema, *, required: bool, table: str = "") -> str:
    """The row of a field, with its rules, or with the place of the table that has them."""
    default = "required" if required else ""
    if "default" in schema:
        default = f"`{json.dumps(schema['default'])}`"
    rest = [f"Fields: [`{table}`](#{anchor(table)})"] if table else _rules(schema)
    meaning = "<br>".join(filter(None, [schema.get("description", ""), *rest]))
    return row((f"`{name}`", kind(schema), default, meaning))


def kind(schema: Schema) -> str:
    """The type of a field with its bounds, such as `integer, 1 to 64`."""
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "items" in schema:
        return _bounded(f"list of {_plural(kind(schema['items']))}", schema, "Items", "")
    if isinstance(values := schema.get("additionalProperties"), Mapping):
        return _bounded(f"map of {_plural(kind(values))}", schema, "Properties", "")
    if schema.get("x-kubernetes-int-or-string"):
        return "integer or string"
    if schema["type"] == "string":
        return _bounded("string", schema, "Length", " characters")
    if schema["type"] in ("integer", "number"):
        return _range(schema["type"], schema.get("minimum"), schema.get("maximum"), "")
    return str(schema["type"])


def _plural(text: str) -> str:
    """A type in the plural; its bounds are those of one item, in brackets."""
    if text.startswith("`"):
        return text
    word, _, bounds = text.partition(", ")
    first, *rest = word.split(" ", 1)
    plural = " ".join([f"{first}s", *rest])
    return f"{plural} ({bounds})" if bounds else plural


def _bounded(text: str, schema: Schema, what: str, unit: str) -> str:
    return _range(text, schema.get(f"min{what}"), schema.get(f"max{what}"), unit)


def _range(text: str, least: int | None, most: int | None, unit: str) -> str:
    match least, most:
        case None | 0, None:
            return text
        case None, _:
            return f"{text}, at most {most}{unit}"
        case _, None:
            return f"{text}, at least {least}{unit}"
        case _ if least == most:
            return f"{text}, exactly {most}{unit}"
        case _:
            return f"{text}, {least} to {most}{unit}"


def _rules(schema: Schema) -> list[str]:
    """The messages of the rules for a field's values and those of its items."""
    item = schema.get("items", schema.get("additionalProperties", {}))
    return list(
        dict.fromkeys(
            rule["message"]
            for part in (schema, item if isinstance(item, Mapping) else {})
            for rule in part.get("x-kubernetes-validations", ())
        )
    )


if __name__ == "__main__":
    PAGE.write_text(generated(PAGE.read_text()))
