"""The comparison of values.yaml with its schema."""

from typing import Any

import pytest
import yaml

from charts.tools.values import described_values
from scale_tests.cluster.operator import CHART
from scale_tests.host.commands import ROOT, ExpectedError

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
    found = described_values(VALUES, SCHEMA)
    assert [value.path for value in found] == ["replicas", "image.repository", "resources"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (VALUES.replace("# How many.", ""), "no comment above replicas"),
        (VALUES.replace("  # Where from.", ""), r"no comment above image\.repository"),
        (VALUES + "# New.\nnovel: 1\n", "schema.json does not know novel"),
        (VALUES.replace("replicas: 1", ""), "values.yaml lacks replicas"),
    ],
)
def test_differences_are_named(values: str, message: str) -> None:
    with pytest.raises(ExpectedError, match=message):
        described_values(values, SCHEMA)


def test_the_chart_and_the_crd_allow_the_same_annotations() -> None:
    definition = (ROOT / "crds" / "partisanclusters.yaml").read_text()
    values = yaml.safe_load((ROOT / CHART / "values.yaml").read_text())
    listed = ",".join(f"'{entry}'" for entry in values["allowedPodAnnotations"])
    assert f"[{listed}].exists(allowed," in definition
