"""How many nodes the next cluster of a system has."""

from collections.abc import Sequence

from scale_tests.benches.mesh.run import TICKS
from scale_tests.measure.spread import Cell

SECONDS_PER_NODE = 0.5
"""Of start, formation and end, as estimated."""


def next_size(done: Sequence[Cell], sizes: Sequence[int]) -> int | None:
    """The size to measure after these: larger until one is not held, then one half-way."""
    sizes_held = [int(cell["nodes"]) for cell in done if cell["held"]]
    if len(sizes_held) == len(done):
        return sizes[len(done)] if len(done) < len(sizes) else None
    # The half-way size is the last one, whatever comes of it.
    *_, last = done
    if last["held"] or any(not cell["held"] for cell in done[:-1]):
        return None
    return (max(sizes_held, default=0) + int(last["nodes"])) // 2


def remaining(done: Sequence[Cell], sizes: Sequence[int]) -> list[int]:
    """The sizes left to measure after these if all of them are held."""
    if all(cell["held"] for cell in done):
        return list(sizes[len(done) :])
    half_way = next_size(done, sizes)
    return [] if half_way is None else [half_way]


def seconds(nodes: int, tick_seconds: float) -> float:
    """The estimated time of a cell on two processors."""
    return nodes * SECONDS_PER_NODE + TICKS * tick_seconds
