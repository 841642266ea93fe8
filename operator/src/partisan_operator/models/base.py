"""What every model of the custom resource shares.

A docstring under a field becomes the field's description in the CustomResourceDefinition, and
so the text that `kubectl explain` prints. A `Rule` becomes an entry of
`x-kubernetes-validations`: the API server evaluates it and is the only judge, the models do not
repeat it in Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Resource(BaseModel):
    """A part of the custom resource: camelCase outside, snake_case inside, never changed."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        populate_by_name=True,
        use_attribute_docstrings=True,
        frozen=True,
    )

    def to_wire(self) -> dict[str, Any]:
        """Return the part as the API server stores it: JSON types, no absent fields."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


@dataclass(frozen=True)
class Rule:
    """One CEL validation rule of a schema node."""

    rule: str
    """The CEL expression that must hold; `self` is the value of the node."""

    message: str
    """What the user reads when it does not hold: the field and the fix."""

    field_path: str | None = None
    """The child that the error is reported on (`.servers`); None reports on the node itself."""

    def to_wire(self) -> dict[str, str]:
        """Return the rule as an entry of `x-kubernetes-validations`."""
        entry = {"rule": self.rule, "message": self.message}
        if self.field_path is not None:
            entry["fieldPath"] = self.field_path
        return entry


def rules(*entries: Rule) -> dict[str, Any]:
    """Return the schema extension that makes the API server check the rules."""
    return {"x-kubernetes-validations": [entry.to_wire() for entry in entries]}


def keyed_by(*fields: str) -> dict[str, Any]:
    """Return the schema extension that makes a list one of unique entries, told apart by fields.

    The entries of such a list may have different owners in server-side apply.
    """
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(fields)}
