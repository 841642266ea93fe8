"""Targets, tables and the page."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isinf
from typing import Any

from scale_tests.benches.reply import figures
from scale_tests.benches.reply.figures import INLINE, MINIMAL, Runs, Way
from scale_tests.host.documents import data_of
from scale_tests.measure.checks import Check, at_least, at_most
from scale_tests.measure.page import Table
from scale_tests.measure.spread import Cell, Spread, short

BRACKET = 10_000
"""The published ratio is expected between states of no words and of so many."""

CALLERS = 16
"""The callers for which targets are stated; most crossovers hardly depend on their number."""

_TEXT = data_of(__file__)
COSTLY_US = 1000
LARGE = 100_000
COPYING_OF_MINIMAL = 0.5


def checks(cells: Sequence[Cell]) -> list[Check]:
    """The targets: the published ratio, the crossover, and copies next to waiting."""
    found = figures.runs(cells)
    return [*_published(found), *_crossing(found), *_waiting(found)]


def _published(found: Runs) -> list[Check]:
    dearer = {
        way.state_words: figures.dearer(ways, way)
        for ways, way in figures.copying(found, "strings", 2)
    }
    name = "Dynomite's request, processor time spawned over inline, state of"
    return [
        check(
            f"{name} {words:,} words",
            dearer[words],
            figures.PUBLISHED_RATIO,
            shown=short(dearer[words]),
        )
        for check, words in ((at_most, 0), (at_least, BRACKET))
        if words in dearer
    ]


def _crossing(found: Runs) -> list[Check]:
    located = figures.crossover_us(found, CALLERS, MINIMAL)
    if located is None:
        return []
    name = f"{CALLERS} callers: cost from which a minimal closure is faster than inline, us"
    # On a busy machine there are no idle processors for spawned processes.
    value = located.median if figures.undisturbed(found, CALLERS, MINIMAL) else None
    return [at_most(name, value, COSTLY_US, shown=_located(located))]


def _waiting(found: Runs) -> list[Check]:
    waits = [point for point in found if point.sweep == "wait"]
    if not waits:
        return []
    most = max(waits, key=lambda point: point.callers)
    ratio = Spread.of(figures.over(found[most], Way(way="spawn_state", state_words=LARGE), MINIMAL))
    name = f"answers that wait, {most.callers} callers: copying {LARGE:,} words over not copying"
    return [at_most(name, ratio.median, COPYING_OF_MINIMAL, shown=str(ratio))]


def tables(cells: Sequence[Cell]) -> dict[str, Table]:
    """All tables, by their titles."""
    found = figures.runs(cells)
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
                short(figures.cpu_us(repetitions)),
                short(figures.slowdown(ways, way)),
                short(figures.dearer(ways, way)),
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
                *(_located(figures.crossover_us(found, callers, way)) for way in spawned),
            ]
            for callers in _callers(found)
            if callers > 1
        ],
        caption="With one caller nothing can run in parallel, and spawning only adds its cost.",
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
                *(short(statistics.median(figures.over(measured, way))) for way in ways),
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


def text(meta: Mapping[str, Any], cells: Sequence[Cell]) -> list[str]:
    """Paragraphs for the page of a run: its circumstances, and Dynomite's ratio next to ours."""
    found = figures.runs(cells)
    inline, spawned = figures.PUBLISHED
    curves = {
        "requests a second": figures.by_words(found, "strings", 2, figures.slowdown),
        "processor time": figures.by_words(found, "strings", 2, figures.dearer),
    }
    ours = "; ".join(
        f"of {name} {', '.join(f'{short(ratio)} at {words:,} words' for words, ratio in curve)}"
        for name, curve in curves.items()
    )
    reached = " and ".join(
        f"{'never' if words is None else f'at {words:,.0f} words'} (of {name})"
        for name, curve in curves.items()
        for words in [figures.words_at(curve, figures.PUBLISHED_RATIO)]
    )
    twice = Spread.of(
        figures.cpu_us(ways[way]) / figures.cpu_us(ways[replace(way, hashes=1)])
        for ways, way in figures.copying(found, "strings", 2)
    )
    values = {
        "config": meta["config"],
        "seconds": meta["seconds"],
        "others": Spread.of(cell["others_cpus"] for cell in cells),
        "share": sum(map(figures.disturbed, cells)) / len(cells),
        "schedulers": cells[0]["schedulers"],
        "iterations": cells[0]["iterations_per_us"],
        "inline": inline,
        "spawned": spawned,
        "ratio": short(figures.PUBLISHED_RATIO),
        "ours": ours,
        "reached": reached,
        "twice": twice,
    }
    return [paragraph.format(**values) for paragraph in _TEXT.values()]


def _busy_ways(found: Runs) -> list[Way]:
    return list(dict.fromkeys(w for p, ways in found.items() if p.sweep == "busy" for w in ways))


def _callers(found: Runs) -> list[int]:
    return list(dict.fromkeys(point.callers for point in found if point.sweep == "busy"))


def _rate(repetitions: Sequence[Cell]) -> str:
    calm = [cell for cell in repetitions if not figures.disturbed(cell)] or repetitions
    return f"{statistics.median(cell['requests_per_s'] for cell in calm):,.0f}"


def _located(found: Spread | None) -> str:
    """A crossover as people read it: an infinite one is above the largest cost."""
    if found is None:
        return "-"
    middle, low, high = (
        f"> {COSTLY_US:,}" if isinf(value) else short(value)
        for value in (found.median, found.low, found.high)
    )
    return middle if low == high else f"{middle} ({low} to {high})"
