"""Claims about measurements, and their targets."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from rich.console import Console

Value = float | bool | str | None


@dataclass(frozen=True, kw_only=True)
class Check:
    """A claim, checked: the value found, and its target (`bar`, as documents name it)."""

    name: str
    value: Value
    bar: str
    ok: bool | None
    """None: nothing was run of which the claim speaks. It is neither met nor missed."""

    @property
    def found(self) -> str:
        """The value, as people read it."""
        return "-" if self.value is None else str(self.value)

    @property
    def verdict(self) -> str:
        """Whether the claim holds, as people read it."""
        if self.ok is None:
            return "not run"
        return "ok" if self.ok else "MISSED"


_HOLDS = {"<": operator.lt, "<=": operator.le, ">=": operator.ge}


def _limited(
    sign: str,
    name: str,
    value: float | None,
    limit: float,
    *,
    shown: Value = None,
    also: str = "",
    met: bool = True,
) -> Check:
    threshold = f"{sign} {limit:g}" + (f", {also}" if also else "")
    if value is None:
        return Check(name=name, value=None, bar=threshold, ok=None)
    found = value if shown is None else shown
    return Check(name=name, value=found, bar=threshold, ok=_HOLDS[sign](value, limit) and met)


at_most = partial(_limited, "<=")
"""A value with an upper limit; not run where it is None.

`shown` is the value as written, if another; `also` names a further condition, `met` its state.
"""

below = partial(_limited, "<")
"""As `at_most`, with a limit that it must not reach."""

at_least = partial(_limited, ">=")
"""As `at_most`, with a lower limit."""


def every(name: str, held: Sequence[bool], what: str = "") -> Check:
    """A claim on each of several; `what` they are."""
    found = f"{sum(held)} of {len(held)} {what}".rstrip()
    return Check(name=name, value=found, bar="all", ok=all(held))


def equal(name: str, value: Value, wanted: Value) -> Check:
    """A value that must be another."""
    return Check(name=name, value=value, bar=f"= {wanted}", ok=value == wanted)


def show(console: Console, checks: Sequence[Check]) -> bool:
    """Prints a line for each check and returns whether none is missed."""
    for check in checks:
        line = f"{check.verdict}: {check.name}: {check.found} ({check.bar})"
        console.print(line, markup=False, soft_wrap=True)
    return all(check.ok is not False for check in checks)
