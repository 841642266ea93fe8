"""From cells to ratios, crossovers, targets, tables and a page."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import exp, inf, isinf, log
from typing import Any

from scale_tests.measure.checks import Check, at_least, at_most
from scale_tests.measure.page import (
    Page,
    Picture,
    Section,
    Table,
    circumstances,
    run_title,
    targets_section,
)
from scale_tests.measure.spread import Spread, short

Cell = Mapping[str, Any]

PUBLISHED = (85_000, 12_000)
"""Dynomite's requests a second, inline and spawned; one caller, machine and OTP unknown."""

PUBLISHED_RATIO = PUBLISHED[0] / PUBLISHED[1]
BRACKET = 10_000
"""The published ratio is expected between states of no words and of so many."""

CALLERS = 16
"""The callers for which targets are stated; most crossovers hardly depend on their number."""

COSTLY_US = 1000
LARGE = 100_000
COPYING_OF_MINIMAL = 0.5


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way to answer: by which process, copying what, hashing the key how often."""

    way: str
    state_words: int = 0
    hashes: int = 1

    @property
    def name(self) -> str:
        """The way, as people read it."""
        copied = f" {self.state_words:,}" if self.way == "spawn_state" else ""
        twice = ", two hashes" if self.hashes > 1 else ""
        return _NAMES[self.way] + copied + twice


_NAMES = {
    "inline": "inline",
    "spawn_state": "spawned, state of",
    "spawn_minimal": "spawned, minimal",
    "pool": "pool",
    "read": "persistent term",
    "ets": "table",
}
"""`minimal`: the closure holds the ring alone. The last two are read by the caller."""
INLINE, MINIMAL = Way(way="inline"), Way(way="spawn_minimal")


@dataclass(frozen=True, kw_only=True)
class Point:
    """Everything but the way that a rate depends on."""

    sweep: str
    ring: str
    work: str
    cost_us: int
    callers: int


Runs = dict[Point, dict[Way, list[Cell]]]
"""The repetitions, in their order."""


def runs(cells: Iterable[Cell]) -> Runs:
    """The cells by point and way, both in the order of the plan."""
    found: Runs = {}
    for cell in sorted(cells, key=lambda cell: int(cell["repetition"])):
        point = Point(**{key: cell[key] for key in Point.__dataclass_fields__})
        way = Way(**{key: cell[key] for key in Way.__dataclass_fields__})
        found.setdefault(point, {}).setdefault(way, []).append(cell)
    return {point: dict(sorted(ways.items(), key=_order)) for point, ways in found.items()}


def over(ways: Mapping[Way, Sequence[Cell]], way: Way, base: Way = INLINE) -> list[float]:
    """The rate of a way over another's, of each repetition."""
    pairs = zip(ways[way], ways[base], strict=True)
    return [a["requests_per_s"] / b["requests_per_s"] for a, b in pairs]


def cpu_us(repetitions: Sequence[Cell]) -> float:
    """Processor time per request in microseconds, of all repetitions: the kernel counts in 10 ms.

    Unlike a rate it hardly depends on other load of the machine.
    """
    used = sum(cell["cpu_us"] * cell["requests"] for cell in repetitions)
    return float(used / sum(cell["requests"] for cell in repetitions))


def slowdown(ways: Mapping[Way, Sequence[Cell]], way: Way) -> float:
    """The median rate inline over that of a way: the published ratio."""
    return 1 / statistics.median(over(ways, way))


def dearer(ways: Mapping[Way, Sequence[Cell]], way: Way) -> float:
    """Processor time per request over that of answering inline."""
    return cpu_us(ways[way]) / cpu_us(ways[INLINE])


def words_at(points: Sequence[tuple[float, float]], wanted: float) -> float | None:
    """Words at which a ratio reaches a value: from the points (words, ratio), between logarithms.

    None where no two neighbours have the value between them.
    """
    for (x0, y0), (x1, y1) in pairwise(points):
        if y0 <= wanted <= y1 and y0 < y1:
            share = (log(wanted) - log(y0)) / (log(y1) - log(y0))
            return exp(log(x0) + share * (log(x1) - log(x0)))
    return None


def crossover(ratios: Sequence[tuple[float, float]]) -> float:
    """The cost from which a ratio stays at least 1, from (cost, ratio) in order of the cost.

    Linear between measured costs; 0 where all ratios are at least 1, infinite where the last one
    is not.
    """
    below = [index for index, (_, ratio) in enumerate(ratios) if ratio < 1]
    if not below:
        return 0.0
    if below[-1] == len(ratios) - 1:
        return inf
    (x0, y0), (x1, y1) = ratios[below[-1]], ratios[below[-1] + 1]
    return x0 + (1 - y0) / (y1 - y0) * (x1 - x0)


def by_cost(found: Runs, callers: int, way: Way) -> list[tuple[int, list[float]]]:
    """The rates of a way over those inline, of each repetition, by the cost of a busy answer."""
    return [
        (point.cost_us, over(ways, way))
        for point, ways in found.items()
        if (point.sweep, point.callers) == ("busy", callers) and way in ways
    ]


def crossovers_us(found: Runs, callers: int, way: Way) -> list[float]:
    """As `crossover`, in microseconds, of each repetition of a way with so many callers."""
    curve = by_cost(found, callers, way)
    return [
        crossover([(cost, ratios[repetition]) for cost, ratios in curve])
        for repetition in range(min((len(ratios) for _, ratios in curve), default=0))
    ]


def by_words(
    found: Runs,
    ring: str,
    hashes: int,
    figure: Callable[[Mapping[Way, Sequence[Cell]], Way], float] = slowdown,
) -> list[tuple[int, float]]:
    """A ratio of spawning with the state to answering inline, by the words of the closure."""
    return [
        (ways[way][0]["closure_words"], figure(ways, way))
        for point, ways in found.items()
        if (point.sweep, point.ring) == ("published", ring)
        for way in ways
        if (way.way, way.hashes) == ("spawn_state", hashes)
    ]


def checks(cells: Sequence[Cell]) -> list[Check]:
    """The targets: the published ratio, the crossover, and copies next to waiting."""
    found = runs(cells)
    return [*_published(found), *_crossing(found), *_waiting(found)]


def _published(found: Runs) -> list[Check]:
    small, large = (
        [dearer(ways, way) for _, ways, way in _deferred(found) if way.state_words == words]
        for words in (0, BRACKET)
    )
    name = "Dynomite's request, processor time spawned over inline, state of"
    return [
        check(f"{name} {words:,} words", value[0], PUBLISHED_RATIO, shown=short(value[0]))
        for check, words, value in ((at_most, 0, small), (at_least, BRACKET, large))
        if value
    ]


def _deferred(found: Runs) -> Iterable[tuple[Point, Mapping[Way, Sequence[Cell]], Way]]:
    """The published comparison: string keys, spawned with the state, hashed twice."""
    for point, ways in found.items():
        if (point.sweep, point.ring) == ("published", "strings"):
            yield from (
                (point, ways, way) for way in ways if (way.way, way.hashes) == ("spawn_state", 2)
            )


def _crossing(found: Runs) -> list[Check]:
    located = crossovers_us(found, CALLERS, MINIMAL)
    if not located:
        return []
    name = f"{CALLERS} callers: cost from which a minimal closure is faster than inline, us"
    return [at_most(name, statistics.median(located), COSTLY_US, shown=_located(located))]


def _waiting(found: Runs) -> list[Check]:
    waits = [point for point in found if point.sweep == "wait"]
    if not waits:
        return []
    most = max(waits, key=lambda point: point.callers)
    ratio = Spread.of(over(found[most], Way(way="spawn_state", state_words=LARGE), MINIMAL))
    name = f"answers that wait, {most.callers} callers: copying {LARGE:,} words over not copying"
    return [at_most(name, ratio.median, COPYING_OF_MINIMAL, shown=str(ratio))]


def tables(cells: Sequence[Cell]) -> dict[str, Table]:
    """All tables, by their titles."""
    found = runs(cells)
    return {
        "Dynomite's request, one caller": _published_table(found),
        "Cost from which spawning is faster than inline, us": _crossover_table(found),
        "Requests a second over those inline": _busy_table(found),
        "Answers that wait": _wait_table(found),
    }


def _published_table(found: Runs) -> Table:
    head = ("ring", "way", "words copied", "requests/s", "CPU, us")
    return Table(
        head=(*head, "inline over it", "its CPU over inline"),
        rows=[
            [
                point.ring,
                way.name,
                f"{repetitions[0]['closure_words']:,}",
                _rate(repetitions),
                short(cpu_us(repetitions)),
                short(slowdown(ways, way)),
                short(dearer(ways, way)),
            ]
            for point, ways in found.items()
            if point.sweep == "published"
            for way, repetitions in ways.items()
        ],
    )


def _crossover_table(found: Runs) -> Table:
    spawned = [way for way in _busy_ways(found) if way.way.startswith("spawn")]
    return Table(
        head=("callers", *(way.name for way in spawned)),
        rows=[
            [
                str(callers),
                *(_located(crossovers_us(found, callers, way)) for way in spawned),
            ]
            for callers in _callers(found)
        ],
    )


def _busy_table(found: Runs) -> Table:
    ways = [way for way in _busy_ways(found) if way != INLINE]
    return Table(
        head=("callers", "cost, us", "inline, requests/s", *(way.name for way in ways)),
        rows=[
            [
                str(point.callers),
                str(point.cost_us),
                _rate(measured[INLINE]),
                *(short(statistics.median(over(measured, way))) for way in ways),
            ]
            for point, measured in found.items()
            if point.sweep == "busy"
        ],
    )


def _wait_table(found: Runs) -> Table:
    waits = {point: ways for point, ways in found.items() if point.sweep == "wait"}
    ways = dict.fromkeys(way for measured in waits.values() for way in measured)
    return Table(
        head=("requests/s", *(f"{point.callers} callers" for point in waits)),
        rows=[[way.name, *(_rate(measured[way]) for measured in waits.values())] for way in ways],
    )


def page(meta: Mapping[str, Any], cells: Sequence[Cell], drawn: Sequence[Picture]) -> Page:
    """The page of a run."""
    config = meta["config"]
    others = Spread.of(cell["others_cpus"] for cell in cells)
    text = [
        f"{circumstances(meta, quick='fewer points and repetitions')} "
        f"{config['repetitions']} repetitions of {config['milliseconds']} ms, {meta['seconds']} s. "
        f"Other processes of the machine used {others} of its CPUs meanwhile: compare the ways, "
        "which took turns, not rates of different points.",
        "The emulator has the release's flags and "
        f"{cells[0]['schedulers']} schedulers. A cost is a loop of hashes, calibrated at the "
        f"start ({cells[0]['iterations_per_us']:.0f} a microsecond).",
    ]
    return Page(
        title=run_title("make bench-reply", meta),
        sections=[
            Section(text=[*text, explanation(runs(cells))], parts=drawn),
            targets_section(checks(cells), "Ratios are medians of the repetitions."),
            *(Section(title=title, parts=[table]) for title, table in tables(cells).items()),
        ],
    )


def explanation(found: Runs) -> str:
    """Dynomite's ratio next to ours, and what it consists of."""
    inline, spawned = PUBLISHED
    curves = [(name, by_words(found, "strings", 2, figure)) for name, figure in _FIGURES]
    ours = "; ".join(
        f"of {name} {', '.join(f'{short(ratio)} at {words:,} words' for words, ratio in curve)}"
        for name, curve in curves
    )
    reached = " and ".join(
        "is not reached" if words is None else f"is reached at {words:,.0f} words (of {name})"
        for name, curve in curves
        for words in [words_at(curve, PUBLISHED_RATIO)]
    )
    ratios = [
        cpu_us(ways[way]) / cpu_us(ways[replace(way, hashes=1)])
        for _, ways, way in _deferred(found)
    ]
    return (
        f"Dynomite published {inline:,} requests a second inline and {spawned:,} spawned, "
        f"{short(PUBLISHED_RATIO)} times. Ours, by the words that are copied: ratios {ours}. "
        f"{short(PUBLISHED_RATIO)} {reached}. The second hash of the published deferred version "
        f"multiplies the processor time by {Spread.of(ratios)}."
    )


_FIGURES = (("requests a second", slowdown), ("processor time", dearer))


def _busy_ways(found: Runs) -> list[Way]:
    return list(dict.fromkeys(w for p, ways in found.items() if p.sweep == "busy" for w in ways))


def _callers(found: Runs) -> list[int]:
    return list(dict.fromkeys(point.callers for point in found if point.sweep == "busy"))


def _rate(repetitions: Sequence[Cell]) -> str:
    return f"{statistics.median(cell['requests_per_s'] for cell in repetitions):,.0f}"


def _located(crossovers: Sequence[float]) -> str:
    """Crossovers as people read them: infinite ones are above the largest cost."""
    found = Spread.of(crossovers)
    middle, low, high = (
        f"> {COSTLY_US:,}" if isinf(value) else short(value)
        for value in (found.median, found.low, found.high)
    )
    return f"{middle} ({low} to {high})"


def _order(item: tuple[Way, object]) -> tuple[int, int, int]:
    way = item[0]
    return list(_NAMES).index(way.way), way.hashes, way.state_words
