"""Circumstances of the cells of a run: time compression, versions, machines.

A run resumes where it was interrupted, days later and with another version if need be, so that none
of them need be the same for all cells.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TypeVar

from scale_tests.benches.experiments.experiment import Experiment
from scale_tests.cluster.kube import Json
from scale_tests.host.documents import data_of
from scale_tests.measure.cells import Result
from scale_tests.measure.page import hardware

ELSEWHERE = "a cluster elsewhere"

T = TypeVar("T")


def compressions(results: Sequence[Result]) -> dict[int, float]:
    """The time compression by the number of nodes, small clusters first."""
    return {cell.nodes: cell.speedup for cell in sorted(results, key=lambda cell: cell.nodes)}


def speed(results: Sequence[Result]) -> str:
    """The time compression, as each table and caption states it."""
    return "Real time." if _is_real_time(results) else f"Time compression {_factors(results)}."


def compression(results: Sequence[Result]) -> list[str]:
    """The meaning of the time compression, once for the whole page."""
    meaning = data_of(__file__)["compression"]
    return [] if _is_real_time(results) else [f"{speed(results)} {meaning}"]


def versions(results: Sequence[Result]) -> dict[str, str]:
    """Versions by name; where there are several, each with the sizes of its cells."""
    names = dict.fromkeys(name for cell in results for name in cell.versions)
    return {name: _by_size(results, _version_of(name)) for name in names}


def machines(results: Sequence[Result]) -> list[Json]:
    """The machines of the runs, with the sizes of their cells; None for one elsewhere."""
    found = _sizes(results, lambda cell: tuple(cell.machine.items()))
    return [{"machine": dict(own) or None, "nodes": nodes} for own, nodes in found.items()]


def machines_text(results: Sequence[Result]) -> str:
    """The same in words."""
    return _by_size(results, lambda cell: hardware(cell.machine) if cell.machine else ELSEWHERE)


def circumstances(experiment: Experiment, results: Sequence[Result]) -> str:
    """Two lines below a picture's title: workload and time compression; machines and versions."""
    counter = experiment.ad_counter
    where = {
        f"one machine of {cell.machine['cpus']} CPUs" if cell.machine else ELSEWHERE
        for cell in results
    }
    otp, source = (
        ", ".join(dict.fromkeys(map(_version_of(n), results))) for n in ("otp", "source")
    )
    return (
        f"time compression {_factors(results)} · increment {counter.increment_interval}, "
        f"propagation {counter.propagation_interval} · {counter.increments} increments per node\n"
        f"{'; '.join(sorted(where))} · OTP {otp}, partisan {source}"
    )


def _is_real_time(results: Sequence[Result]) -> bool:
    return all(cell.speedup == 1 for cell in results)


def _factors(results: Sequence[Result]) -> str:
    """Small clusters first, such as "30, from 256 nodes on 10"."""
    changes = groupby(compressions(results).items(), key=lambda of: of[1])
    (_, first), *later = (next(sizes) for _, sizes in changes)
    return ", ".join([f"{first:g}", *(f"from {n:,} nodes on {factor:g}" for n, factor in later)])


def _version_of(name: str) -> Callable[[Result], str]:
    return lambda cell: cell.versions.get(name, "unknown")


def _by_size(results: Sequence[Result], of: Callable[[Result], str]) -> str:
    """The text of all cells; where they differ, each with the sizes of its cells."""
    found = _sizes(results, of)
    if len(found) == 1:
        return next(iter(found))
    return "; ".join(
        f"{value} ({', '.join(f'{n:,}' for n in nodes)} nodes)" for value, nodes in found.items()
    )


def _sizes(results: Sequence[Result], of: Callable[[Result], T]) -> dict[T, list[int]]:
    """The values that cells have in common, with the sizes of those; small clusters first."""
    found: dict[T, list[int]] = {}
    for cell in sorted(results, key=lambda cell: cell.nodes):
        sizes = found.setdefault(of(cell), [])
        if cell.nodes not in sizes:
            sizes.append(cell.nodes)
    return found
