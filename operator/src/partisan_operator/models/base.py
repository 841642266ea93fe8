"""Base class and validation rules of the custom resource's models.

A docstring under a field becomes the field's description in the CustomResourceDefinition, and so
the text that `kubectl explain` prints. A `Rule` becomes an entry of `x-kubernetes-validations`: the
API server alone evaluates it; the models do not repeat it in Python.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Resource(BaseModel):
    """An immutable part of the custom resource: camelCase in JSON, snake_case in Python."""

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
    """The error message: the field and the fix."""

    field_path: str | None = None
    """The child that the error names (`.servers`); None for the node itself."""

    unless: str | None = None
    """CEL expression over `self` and the stored value `old`: updates accepted although the rule
    does not hold. A rule over several fields is evaluated on every update of their parent, so
    without this exception a stored cluster that breaks a rule of a later release could not even be
    paused."""

    def to_wire(self) -> dict[str, Any]:
        """Return the rule as an entry of `x-kubernetes-validations`."""
        entry: dict[str, Any] = {"rule": self.rule, "message": self.message}
        if self.unless is not None:
            # Bound as the entry of a list, whose size the API server estimates; it treats an
            # optional's value as unbounded.
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
    return " && ".join(f"{given('old', path)} && self.{path} == old.{path}" for path in paths)


def given(value: str, path: str) -> str:
    """Return the CEL expression for a value having a field, and all parents of it.

    >>> given("self", "pods.env")
    'has(self.pods) && has(self.pods.env)'
    """
    names = path.split(".")
    parents = (".".join((value, *names[: depth + 1])) for depth in range(len(names)))
    return " && ".join(f"has({parent})" for parent in parents)


def not_raised(*amounts: str) -> str:
    """Return the CEL expression for an update that raises none of the amounts.

    >>> not_raised("self.replicas")
    'self.replicas <= old.replicas'
    """
    return " && ".join(f"{amount} <= {amount.replace('self.', 'old.')}" for amount in amounts)


# The API server bounds the total cost of all rules at 100 million units. Versions 1.30 to 1.33
# assume that each string of an integer-or-string is as large as a request may be, some 300,000
# units per read by a rule, and estimate 95 million units in all.
def rules(*entries: Rule) -> dict[str, Any]:
    """Return the schema extension with which the API server checks the rules."""
    return {"x-kubernetes-validations": [entry.to_wire() for entry in entries]}


def listed(values: Iterable[str]) -> str:
    """Return the CEL expression for a list of strings.

    >>> listed(("a", "b"))
    "['a', 'b']"
    """
    return "[" + ", ".join(f"'{value}'" for value in values) + "]"


def one_of(kinds: tuple[str, ...], message: str) -> dict[str, Any]:
    """Return the schema extension of a value that has exactly one of these members."""
    members = ", ".join(f"has(self.{kind})" for kind in kinds)
    return rules(Rule(f"[{members}].filter(given, given).size() == 1", message))


def keyed_by(*fields: str) -> dict[str, Any]:
    """Return the schema extension of a list whose entries are unique and identified by fields.

    The entries of such a list may have different owners in server-side apply.
    """
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": list(fields)}
