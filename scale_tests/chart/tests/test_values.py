"""The comparison of values.yaml with its schema."""

from __future__ import annotations

from typing import Any

import pytest

from scale_tests.chart.values import ChartError, check_values

VALUES = """
# How many.
replicas: 1
image:
  # Where from.
  repository: r
# Passed through.
resources:
  limits: {}
"""
SCHEMA: dict[str, Any] = {
    "definitions": {"image": {"properties": {"repository": {"type": "string"}}}},
    "properties": {
        "global": {"type": "object"},
        "replicas": {"type": "integer"},
        "image": {"$ref": "#/definitions/image"},
        "resources": {"type": "object"},
    },
}


def test_values_that_the_schema_describes_pass() -> None:
    check_values(VALUES, SCHEMA)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (VALUES.replace("# How many.", ""), "no comment above replicas"),
        (VALUES.replace("  # Where from.", ""), r"no comment above image\.repository"),
        (VALUES + "# New.\nnovel: 1\n", "schema.json does not know novel"),
        (VALUES.replace("replicas: 1", ""), "values.yaml lacks replicas"),
    ],
)
def test_what_differs_is_named(values: str, message: str) -> None:
    with pytest.raises(ChartError, match=message):
        check_values(values, SCHEMA)
