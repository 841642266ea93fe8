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

    unless: str | None = None
    """The CEL expression, of `self` and the stored value `old`, for updates that are accepted
    although the rule does not hold. A rule over several fields is evaluated on every update of
    their parent: without this, a stored cluster that breaks a rule of a later release could not
    even be paused."""

    def to_wire(self) -> dict[str, Any]:
        """Return the rule as an entry of `x-kubernetes-validations`."""
        entry: dict[str, Any] = {"rule": self.rule, "message": self.message}
        if self.unless is not None:
            # Bound as the entry of a list, whose size the API server estimates; that of an
            # optional's value it takes for unbounded.
            accepted = f"oldSelf.hasValue() && [oldSelf.value()].all(old, {self.unless})"
            entry["rule"] = f"({self.rule}) || {accepted}"
            entry["optionalOldSelf"] = True
        if self.field_path is not None:
            entry["fieldPath"] = self.field_path
        return entry


def unchanged(*paths: str) -> str:
    """Return the CEL expression for an update that leaves fields, which are set, as they were.

    >>> unchanged("overlay.kind")
    'has(old.overlay) && has(old.overlay.kind) && self.overlay.kind == old.overlay.kind'
    """
    return " && ".join(f"{_given('old', path)} && self.{path} == old.{path}" for path in paths)


def _given(value: str, path: str) -> str:
    names = path.split(".")
    parents = (".".join((value, *names[: depth + 1])) for depth in range(len(names)))
    return " && ".join(f"has({parent})" for parent in parents)


def not_raised(*amounts: str) -> str:
    """Return the CEL expression for an update that raises none of the amounts.

    >>> not_raised("self.replicas")
    'self.replicas <= old.replicas'
    """
    return " && ".join(f"{amount} <= {amount.replace('self.', 'old.')}" for amount in amounts)


# What all rules may cost together is bounded by the API server. Those of 1.30 to 1.33 estimate each
# string of an integer-or-string as large as a request may be, some 300,000 units each time that a
# rule reads it, and come to 95 of the 100 million units that there are.
def rules(*entries: Rule) -> dict[str, Any]:
    """Return the schema extension that makes the API server check the rules."""
    return {"x-kubernetes-validations": [entry.to_wire() for entry in entries]}


def keyed_by(*fields: str) -> dict[str, Any]:
    """Return the schema extension that makes a list one of unique entries, identified by fields.

    The entries of such a list may have different owners in server-side apply.
    """
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(fields)}
