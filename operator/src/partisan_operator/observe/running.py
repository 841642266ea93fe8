"""Which overlay the nodes run. During a switch, some run the previous one too."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from partisan_operator.children.overlay import kind_called
from partisan_operator.models.overlay import OverlayKind
from partisan_operator.observe.report import OverlayReport


@dataclass(frozen=True)
class RunningOverlay:
    """The overlay in force."""

    kind: OverlayKind
    """The one that most nodes run."""

    previous: OverlayKind | None
    """The one that some nodes still run; the same kind when only parameters change."""


def running_overlay(
    reports: Iterable[OverlayReport], *, wanted: OverlayKind, earlier: OverlayKind | None
) -> RunningOverlay:
    """Return the overlay that most nodes run, and the one that some still run next to it.

    A tie goes to the `wanted` one; where no node answers, the `earlier` one stays.
    """
    present: Counter[OverlayKind] = Counter()
    previous_kinds: Counter[OverlayKind] = Counter()
    for report in reports:
        for name, counter in ((report.kind, present), (report.former or "", previous_kinds)):
            kind = kind_called(name)
            if kind is not None:
                counter[kind] += 1
    if not present:
        return RunningOverlay(earlier or wanted, None)
    most = max(present, key=lambda kind: (present[kind], kind == wanted))
    del present[most]
    others = previous_kinds + present
    previous = max(others, key=lambda kind: (kind != most, others[kind]), default=None)
    return RunningOverlay(most, previous)
