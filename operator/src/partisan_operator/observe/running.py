"""Which overlay the nodes run. While a cluster is moved to another one, some run two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from partisan_operator.children.overlay import kind_called
from partisan_operator.models.overlay import OverlayKind
from partisan_operator.observe.report import OverlayReport


@dataclass(frozen=True)
class RunningOverlay:
    """What the status says of the overlay in force."""

    kind: OverlayKind
    """The one that most nodes run."""

    also: OverlayKind | None
    """Another one that some do, or the same one with other parameters."""


def running_overlay(
    reports: Iterable[OverlayReport], *, wanted: OverlayKind, earlier: OverlayKind | None
) -> RunningOverlay:
    """Return the overlay that most nodes run, and what some run besides.

    Where as many run one as the other it is the `wanted` one; where none answers, the `earlier`.
    """
    present: Counter[OverlayKind] = Counter()
    former: Counter[OverlayKind] = Counter()
    for report in reports:
        for name, counter in ((report.kind, present), (report.former or "", former)):
            kind = kind_called(name)
            if kind is not None:
                counter[kind] += 1
    if not present:
        return RunningOverlay(earlier or wanted, None)
    most = max(present, key=lambda kind: (present[kind], kind == wanted))
    del present[most]
    others = former + present
    also = max(others, key=lambda kind: (kind != most, others[kind]), default=None)
    return RunningOverlay(most, also)
