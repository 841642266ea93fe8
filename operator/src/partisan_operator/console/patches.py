"""Changes between two documents, as JSON merge patches (RFC 7386).

A document is nested objects with text keys; every other value is a leaf and replaced as a whole. A
document holds no null, so that null in a patch always means removal and a patch is exact.
"""

from collections.abc import Mapping
from typing import Any

Document = dict[str, Any]


def delta(before: Mapping[str, Any], after: Mapping[str, Any]) -> Document:
    """Return the patch from one document to the next; empty if they are equal.

    >>> delta({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"c": 2, "d": 4}})
    {'a': None, 'b': {'d': 4}}
    """
    patch: Document = dict.fromkeys(before.keys() - after.keys())
    for key, value in after.items():
        if key not in before:
            patch[key] = value
            continue
        old = before[key]
        if old is value:
            continue
        if isinstance(value, Mapping) and isinstance(old, Mapping):
            if inner := delta(old, value):
                patch[key] = inner
        elif type(old) is not type(value) or old != value:
            patch[key] = value
    return patch


def apply(document: Mapping[str, Any], patch: Mapping[str, Any]) -> Document:
    """Return a document after a patch; neither argument is changed.

    >>> apply({"a": 1, "b": {"c": 2, "d": 3}}, {"a": None, "b": {"d": 4}})
    {'b': {'c': 2, 'd': 4}}
    """
    result = dict(document)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            old = result.get(key)
            result[key] = apply(old if isinstance(old, Mapping) else {}, value)
        else:
            result[key] = value
    return result
