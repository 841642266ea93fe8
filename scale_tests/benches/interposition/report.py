"""From cells to ratios, targets, a table and a page."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from scale_tests.host.documents import data_of
from scale_tests.measure.checks import Check, at_least, at_most
from scale_tests.measure.page import Table
from scale_tests.measure.spread import Cell, having

_DATA = data_of(__file__)

DISPATCH, RULE, THROUGHPUT = "dispatch", "dispatch with one rule", "throughput"
CPU = "processor time of both virtual machines for a message"
"""Depends less than the rate on what else the machine does."""

DISPATCH_AT_MOST, RULE_AT_MOST, THROUGHPUT_AT_LEAST = 1.03, 1.25, 0.97


def value(cells: Sequence[Cell], metric: str, system: str, pair: int) -> float | None:
    """The figure of one pair's repetitions; None: not measured.

    A send takes its time or, when disturbed, more: the best counts. Messages form larger or smaller
    batches from run to run, so a rate varies both ways, and the best is by luck: the median counts.
    """
    measured = THROUGHPUT if metric == CPU else metric
    own = having(cells, metric=measured, system=system, pair=pair)
    field = {THROUGHPUT: "msgs_per_s", CPU: "cpu_us_per_message"}.get(metric, "ns_at_least")
    figure = median if measured == THROUGHPUT else min
    return figure(float(cell[field]) for cell in own) if own else None


def ratios(cells: Sequence[Cell], metric: str) -> list[float]:
    """This checkout's value over that of the base, by pair. The base has no rules to set."""
    found = []
    for pair in sorted({cell["pair"] for cell in cells}):
        base = value(cells, DISPATCH if metric == RULE else metric, "base", pair)
        present = value(cells, metric, "present", pair)
        if base and present:
            found.append(present / base)
    return found


def checks(cells: Sequence[Cell]) -> list[Check]:
    """The targets: medians of the pairs' ratios."""

    def middle(metric: str) -> float | None:
        found = ratios(cells, metric)
        return round(median(found), 3) if found else None

    sends, ruled, messages = middle(DISPATCH), middle(RULE), middle(THROUGHPUT)
    return [
        at_most("a send, over the base", sends, DISPATCH_AT_MOST),
        at_least("messages of 1 KB per second, over the base", messages, THROUGHPUT_AT_LEAST),
        at_most("a send with one rule that does not match, over the base", ruled, RULE_AT_MOST),
    ]


def tables(cells: Sequence[Cell]) -> dict[str, Table]:
    """A row for each pair."""
    rows = []
    for number, pair in enumerate(sorted({cell["pair"] for cell in cells})):
        row = [str(pair)]
        for metric, both in ((DISPATCH, True), (RULE, False), (THROUGHPUT, True)):
            shown = [value(cells, metric, "base", pair)] if both else []
            shown.append(value(cells, metric, "present", pair))
            row += ["-" if one is None else f"{one:,.0f}" for one in shown]
            row.append(f"{ratios(cells, metric)[number]:.3f}")
        row.append(f"{ratios(cells, CPU)[number]:.3f}")
        rows.append(row)
    return {"Pairs": Table(head=_DATA["head"], rows=rows)}


def text(meta: Mapping[str, Any], _cells: Sequence[Cell]) -> list[str]:
    """Paragraphs for the page of a run."""
    return [_DATA["pairs"].format(**meta["config"])]
