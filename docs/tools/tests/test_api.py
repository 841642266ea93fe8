"""The tables of the API's page."""

from typing import Any

import pytest

from docs.tools.api import PAGE, generated, kind, stored_schema, tables
from docs.tools.site_text import anchor

NAME = {"type": "string", "description": "A name.", "minLength": 1, "maxLength": 63}
PORT: dict[str, Any] = {
    "type": "object",
    "description": "A port.",
    "required": ["name"],
    "properties": {
        "name": NAME,
        "port": {"type": "integer", "minimum": 1, "maximum": 65535, "default": 80},
        "protocol": {"type": "string", "enum": ["TCP", "UDP"]},
    },
}
SCHEMA: dict[str, Any] = {
    "properties": {
        "spec": {
            "description": "What is wanted.",
            "x-kubernetes-validations": [{"rule": "...", "message": "set one | remove one"}],
            "properties": {
                "inner": {"type": "array", "items": PORT, "description": "Ports within."},
                "outer": {"type": "array", "items": PORT, "description": "Ports without."},
                "small": {"type": "object", "properties": {"name": NAME}},
            },
        },
        "status": {"description": "What is.", "properties": {"ready": {"type": "boolean"}}},
    }
}


def test_equal_objects_share_a_table_and_small_ones_stand_in_that_of_their_parent() -> None:
    assert tables(SCHEMA).splitlines() == [
        "## `spec`",
        "",
        "What is wanted.",
        "",
        "| rules |",
        "|---|",
        "| set one \\| remove one |",
        "",
        "| field | type | default | meaning |",
        "|---|---|---|---|",
        "| `inner` | list of objects |  | Ports within.<br>Fields: [`spec.inner[]`](#specinner) |",
        "| `outer` | list of objects |  | Ports without.<br>Fields: [`spec.inner[]`](#specinner) |",
        "| `small` | object |  |  |",
        "| `small.name` | string, 1 to 63 characters |  | A name. |",
        "",
        "### `spec.inner[]`",
        "",
        "A port.",
        "",
        "| field | type | default | meaning |",
        "|---|---|---|---|",
        "| `name` | string, 1 to 63 characters | required | A name. |",
        "| `port` | integer, 1 to 65535 | `80` |  |",
        "| `protocol` | `TCP`, `UDP` |  |  |",
        "",
        "## `status`",
        "",
        "What is.",
        "",
        "| field | type | default | meaning |",
        "|---|---|---|---|",
        "| `ready` | boolean |  |  |",
    ]


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "integer", "minimum": 1}, "integer, at least 1"),
        ({"type": "integer", "minimum": 0, "maximum": 4}, "integer, 0 to 4"),
        ({"type": "integer", "maximum": 4}, "integer, at most 4"),
        ({"x-kubernetes-int-or-string": True}, "integer or string"),
        ({"additionalProperties": {"type": "string", "maxLength": 5}, "maxProperties": 2},
         "map of strings (at most 5 characters), at most 2"),
        ({"items": {"items": {"type": "integer"}, "minItems": 2, "maxItems": 2}},
         "list of lists of integers (exactly 2)"),
    ],
)  # fmt: skip
def test_a_type_has_its_bounds(schema: dict[str, Any], text: str) -> None:
    assert kind(schema) == text


def test_a_large_object_has_the_anchor_of_its_heading() -> None:
    assert anchor("spec.pods.volumes[].projected") == "specpodsvolumesprojected"


def test_every_field_of_the_api_is_on_the_page() -> None:
    text = tables(stored_schema())
    assert text.count("\n| `") > 350
    for row in ("`replicas` | integer, 1 to 1024", "`hyParView.activeMax` | integer, 2 to 64"):
        assert row in text


def test_the_page_is_as_generated() -> None:
    assert PAGE.read_text() == generated(PAGE.read_text()), "make crd"
