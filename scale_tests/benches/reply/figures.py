"""From cells to ratios and crossovers."""

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp, inf, log

from scale_tests.host.documents import data_of
from scale_tests.measure.spread import Cell, Spread, read

PUBLISHED = (85_000, 12_000)
"""Dynomite's requests a second, inline and spawned; one caller, machine and OTP unknown."""

PUBLISHED_RATIO = PUBLISHED[0] / PUBLISHED[1]
DISTURBED_CPUS = 0.5
"""CPUs that other processes use in a cell from which on its rate says little about the way."""


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


_NAMES: Mapping[str, str] = data_of(__file__)
INLINE, MINIMAL = Way(way="inline"), Way(way="spawn_minimal")


@dataclass(frozen=True, kw_only=True)
class Point:
    """Everything but the way that a rate depends on."""

    sweep: str
    ring: str = "strings"
    work: str = "busy"
    cost_us: int = 0
    callers: int = 1


Ways = Mapping[Way, Sequence[Cell]]
"""The repetitions of each way at one point, in their order."""

Runs = dict[Point, dict[Way, list[Cell]]]
"""The same by point."""


def runs(cells: Iterable[Cell]) -> Runs:
    """The cells by point and way, both in the order of the plan."""
    found: Runs = {}
    for cell in sorted(cells, key=lambda cell: int(cell["repetition"])):
        found.setdefault(read(Point, cell), {}).setdefault(read(Way, cell), []).append(cell)
    return {point: dict(sorted(ways.items(), key=_order)) for point, ways in found.items()}


def over(ways: Ways, way: Way, base: Way = INLINE) -> list[float]:
    """The rate of a way over another's, of each repetition.

    Of the undisturbed ones, if there are any.
    """
    pairs = _calm(ways, way, base) or zip(ways[way], ways[base], strict=True)
    return [a["requests_per_s"] / b["requests_per_s"] for a, b in pairs]


def _calm(ways: Ways, way: Way, base: Way = INLINE) -> list[tuple[Cell, Cell]]:
    """The repetitions of two ways in which neither was disturbed."""
    pairs = zip(ways[way], ways[base], strict=True)
    return [pair for pair in pairs if not any(map(disturbed, pair))]


def disturbed(cell: Cell) -> bool:
    """Whether other processes used so much of the machine that a rate means little."""
    return bool(cell["others_cpus"] >= DISTURBED_CPUS)


def cpu_us(repetitions: Sequence[Cell]) -> float:
    """Processor time per request in microseconds, of all repetitions: the kernel counts in 10 ms.

    Unlike a rate it hardly depends on other load of the machine.
    """
    used = sum(cell["cpu_us"] * cell["requests"] for cell in repetitions)
    return float(used / sum(cell["requests"] for cell in repetitions))


def slowdown(ways: Ways, way: Way) -> float:
    """The median rate inline over that of a way: the published ratio."""
    return 1 / statistics.median(over(ways, way))


def dearer(ways: Ways, way: Way) -> float:
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


def by_cost(found: Runs, callers: int, way: Way) -> list[tuple[int, Spread]]:
    """The rates of a way over those inline, by the cost of a busy answer."""
    return [
        (point.cost_us, Spread.of(over(ways, way)))
        for point, ways in found.items()
        if (point.sweep, point.callers) == ("busy", callers) and way in ways
    ]


def undisturbed(found: Runs, callers: int, way: Way) -> bool:
    """Whether each point of `by_cost` has a repetition that was not disturbed."""
    return all(
        _calm(ways, way)
        for point, ways in found.items()
        if (point.sweep, point.callers) == ("busy", callers)
    )


def crossover_us(found: Runs, callers: int, way: Way) -> Spread | None:
    """As `crossover`, in microseconds: of the medians, the largest and the least ratios.

    None where the way was not measured with so many callers.
    """
    curve = by_cost(found, callers, way)
    if not curve:
        return None
    return Spread(
        median=crossover([(cost, ratio.median) for cost, ratio in curve]),
        low=crossover([(cost, ratio.high) for cost, ratio in curve]),
        high=crossover([(cost, ratio.low) for cost, ratio in curve]),
    )


def copying(found: Runs, ring: str, hashes: int) -> Iterator[tuple[Ways, Way]]:
    """The published comparison: what was measured with a ring, and a way that copies the state."""
    for point, ways in found.items():
        if (point.sweep, point.ring) == ("published", ring):
            copied = [way for way in ways if (way.way, way.hashes) == ("spawn_state", hashes)]
            yield from ((ways, way) for way in copied)


def by_words(
    found: Runs, ring: str, hashes: int, figure: Callable[[Ways, Way], float]
) -> list[tuple[int, float]]:
    """A ratio of spawning with the state to answering inline, by the words of the closure."""
    return [
        (ways[way][0]["closure_words"], figure(ways, way))
        for ways, way in copying(found, ring, hashes)
    ]


def _order(item: tuple[Way, object]) -> tuple[int, int, int]:
    way = item[0]
    return list(_NAMES).index(way.way), way.hashes, way.state_words
