"""Scalar types with a text form: durations and resource quantities."""

import re
from decimal import ROUND_UP, Decimal, Overflow
from math import ceil
from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from partisan_operator.models.base import Rule, rules

_DURATION_PART = r"[0-9]{1,7}(\.[0-9]{1,3})?(ms|s|m|h)"
_MILLISECONDS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}


def _between(least: str, most: str, *, such_as: str, why: str = "") -> Any:
    """Return the field of a duration between two bounds."""
    return Field(
        max_length=24,
        json_schema_extra=rules(
            Rule(
                rule=(
                    f"self.matches(r'^({_DURATION_PART})+$') && duration(self) >="
                    f" duration('{least}') && duration(self) <= duration('{most}')"
                ),
                message=f"must be a duration between {least} and {most}, such as {such_as}"
                + (f": {why}" if why else ""),
            )
        ),
    )


Lease = Annotated[
    str,
    _between(
        "10s", "24h", such_as="10m", why="with a shorter one nodes would resubscribe constantly"
    ),
]
"""How long an entry of a view is valid."""

ScrapeInterval = Annotated[
    str,
    _between(
        "1s",
        "5m",
        such_as="15s",
        why="a node's metrics are no finer, and Prometheus forgets a series after five minutes",
    ),
]
"""How often Prometheus scrapes."""

Interval = Annotated[
    str,
    _between(
        "100ms",
        "1h",
        such_as="500ms or 10s",
        why="more often would keep the nodes busy with the overlay alone",
    ),
]
"""How often a node works on its overlay."""

CountingInterval = Annotated[
    str,
    _between(
        "10ms",
        "24h",
        such_as="500ms or 10s",
        why="more often would keep the nodes busy with timers alone",
    ),
]
"""How often a node counts, or exchanges counters."""

Heartbeat = Annotated[str, _between("1s", "1m", such_as="5s or 20s")]
"""Time between two heartbeats, as a Go-style duration."""

Lifetime = Annotated[str, _between("10m", "87600h", such_as="90m, 24h or 2160h")]
"""How long a certificate lasts, as a Go-style duration: hours are its longest unit."""

_SIZE_PATTERN = r"^[0-9]{1,15}(\.[0-9]{1,9})?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$"
_QUANTITY_PATTERN = _SIZE_PATTERN.replace("|Ti)", "|Ti|[eE][0-9])")
_BYTES_PATTERN = r"^\d+(000m|([.]\d{1,3})?([kMGT]|[KMGT]i))?$"
_DECIMAL_POWERS = {"n": -3, "u": -2, "m": -1, "k": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_BINARY_POWERS = {"K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_FACTORS = {
    "": Decimal(1),
    **{suffix: Decimal(1000) ** power for suffix, power in _DECIMAL_POWERS.items()},
    **{f"{suffix}i": Decimal(1024) ** power for suffix, power in _BINARY_POWERS.items()},
}
_QUANTITY = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)([a-zA-Z]*)")
_NANO = Decimal("1e-9")
_LARGEST = Decimal(2**63 - 1)
"""The greatest quantity that the API server stores. It rounds to whole billionths, away from
zero."""


def is_bytes(value: str) -> str:
    """Return the CEL expression for a quantity being a number of bytes: no single thousandths."""
    text = f"string({value})"
    # 1.5Gi is an integer too, which `isInteger` does not find.
    return f"quantity({text}).isInteger() || {text}.endsWith('000m') || {text}.endsWith('i')"


def approximately(value: str) -> str:
    """Return the CEL expression for a quantity as a double.

    API servers before 1.34 assume that each string in such a value is as large as a request may be,
    so a rule reads it once. `in [int]` because they assume the same of `== int`.
    """
    return f"(type({value}) in [int] ? double({value}) : quantity({value}).asApproximateFloat())"


_INT_OR_STRING: dict[str, Any] = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "x-kubernetes-int-or-string": True,
}

Quantity = Annotated[
    int | str,
    WithJsonSchema(_INT_OR_STRING | {"maxLength": 32, "minimum": 0, "pattern": _QUANTITY_PATTERN}),
]
"""A Kubernetes resource quantity such as `20m`, `64Mi` or `1`."""

IntOrText = Annotated[
    int | str,
    WithJsonSchema(_INT_OR_STRING | {"maxLength": 1024}),
]
"""An integer, or text as it is."""

IntOrPercent = Annotated[
    int | str,
    WithJsonSchema(
        _INT_OR_STRING
        | {"maxLength": 4}
        | rules(
            Rule(
                rule="type(self) == int ? self >= 1 && self <= 1024"
                " : self.matches('^([1-9]|[1-9][0-9]|100)%$')",
                message="must be a count from 1 to 1024 or a percentage from 1% to 100%",
            )
        )
    ),
]
"""A count of pods, or a share of them such as `10%`."""


ByteSize = Annotated[
    int | str,
    WithJsonSchema(
        _INT_OR_STRING
        | {"maxLength": 32, "pattern": _BYTES_PATTERN}
        | rules(
            Rule(
                rule=f"[{approximately('self')}].all(size, size >= 4096.0 && size <= {2.0**30})",
                message="must be a whole number of bytes between 4Ki and 1Gi, such as 512Ki or 8Mi",
            )
        )
    ),
]
"""A number of bytes as a resource quantity such as `512Ki`."""


def duration_rule(schema: dict[str, Any]) -> tuple[str, str, str] | None:
    """Return the least and the most of a duration's schema, and its message; None for others."""
    for entry in schema.get("x-kubernetes-validations", ()):
        bounds = re.findall(r"duration\(self\) [<>]= duration\('(\w+)'\)", entry["rule"])
        if len(bounds) == 2:
            return bounds[0], bounds[1], entry["message"]
    return None


def milliseconds(duration: str) -> int:
    """Return the whole milliseconds of a `Duration`, at least 1.

    >>> milliseconds("1m1.5s")
    61500
    """
    if not re.fullmatch(f"({_DURATION_PART})+", duration):
        raise ValueError(f"{duration!r} is no duration: write for example 500ms, 10s or 1m30s")
    parts = re.findall(r"([0-9.]+)(ms|s|m|h)", duration)
    return max(1, round(sum(Decimal(number) * _MILLISECONDS[unit] for number, unit in parts)))


def share(value: int | str, total: int) -> int:
    """Return the count that an `IntOrPercent` means of `total`: rounded down, at least 1."""
    if isinstance(value, int):
        return max(1, value)
    return max(1, total * int(value.removesuffix("%")) // 100)


def same_quantity(left: Any, right: Any) -> bool:
    """Whether two values are the same quantity once the API server has stored them.

    >>> same_quantity("0.5", "500m"), same_quantity("0.5m", "500u")
    (True, True)
    """
    stored = _stored(left), _stored(right)
    return stored[0] is not None and stored[0] == stored[1]


def whole(quantity: int | str) -> int:
    """Return the least whole number that a `Quantity` fits into, at least 1.

    >>> whole("10m"), whole("1500m"), whole(4)
    (1, 2, 4)
    """
    amount = _parse_quantity(quantity)
    if amount is None:
        raise ValueError(f"{quantity!r} is no quantity: write for example 20m, 64Mi or 1")
    return max(1, ceil(amount))


def _stored(value: Any) -> Decimal | None:
    amount = _parse_quantity(value)
    if amount is None:
        return None
    capped = min(abs(amount), _LARGEST)
    return (capped if capped == _LARGEST else capped.quantize(_NANO, ROUND_UP)).copy_sign(amount)


def _parse_quantity(value: Any) -> Decimal | None:
    """Return the number that a quantity stands for; None for a value that is none.

    The same as `kubernetes.utils.parse_quantity`, which takes half a second to import.
    """
    match = None if isinstance(value, bool) else _QUANTITY.fullmatch(str(value))
    if match is None or match[2] not in _FACTORS:
        return None
    try:
        return Decimal(match[1]) * _FACTORS[match[2]]
    except Overflow:
        # As a hash may look: 1e999999999.
        return None
