"""The cells, in their order."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product

from scale_tests.benches.reply.figures import Point, Way
from scale_tests.host.documents import data_of
from scale_tests.measure.emulator import term
from scale_tests.measure.spread import Cell

STATELESS = ("spawn_minimal", "pool", "read", "ets")
"""The ways, next to answering inline, whose cost does not depend on the state."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One run. The cells of a repetition that are compared are measured one after the other."""

    states: Sequence[int]
    """Words of state next to the ring."""
    callers: Sequence[int]
    """Of answers that use a processor."""
    waiting: Sequence[int]
    """Callers of answers that wait."""
    costs_us: Sequence[int]
    """Processor time of an answer beyond the look-up."""
    wait_us: int
    """Of an answer that waits."""
    milliseconds: int
    """The length of a cell, at least one request of each caller."""
    repetitions: int
    progress: int
    """Cells from one line of progress to the next."""


def plan(*, quick: bool) -> Plan:
    """The plan of a run."""
    return Plan(**data_of(__file__)["quick" if quick else "full"])


def cells(chosen: Plan) -> list[Cell]:
    """All cells. The ways take turns at every point, in another order in each repetition.

    In a cell a string is an Erlang atom.
    """
    found = []
    for repetition in range(chosen.repetitions):
        common = {"milliseconds": chosen.milliseconds, "repetition": repetition}
        for point, ways in _points(chosen):
            first = repetition % len(ways)
            turn = (*ways[first:], *ways[:first])
            found += [{**asdict(way), **asdict(point), **common} for way in turn]
    return found


def text(chosen: Sequence[Cell]) -> str:
    """The cells as the Erlang side reads them: a term each."""
    return "".join(f"{term(cell)}.\n" for cell in chosen)


def _points(chosen: Plan) -> list[tuple[Point, list[Way]]]:
    """The points of comparison, each with its ways."""
    once, twice = _ways(chosen, (1,)), _ways(chosen, (1, 2))
    points = [(Point(sweep="published", ring=ring), twice) for ring in ("strings", "six")]
    for callers, cost in product(chosen.callers, chosen.costs_us):
        points.append((Point(sweep="busy", cost_us=cost, callers=callers), once))
    for callers in chosen.waiting:
        point = Point(sweep="wait", work="wait", cost_us=chosen.wait_us, callers=callers)
        points.append((point, once))
    return points


def _ways(chosen: Plan, hashes: Sequence[int]) -> list[Way]:
    """Hashing the key twice is the control of the published comparison, inline and spawned."""
    return [
        *(Way(way="inline", hashes=number) for number in hashes),
        *(
            Way(way="spawn_state", state_words=words, hashes=number)
            for number, words in product(hashes, chosen.states)
        ),
        *(Way(way=way) for way in STATELESS),
    ]
