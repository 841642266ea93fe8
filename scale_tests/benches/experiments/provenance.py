"""Under which circumstances the cells of a run came about: speedups, versions, machines.

A run goes on where it was interrupted, days later and with another version if need be, so that
none of them need be the same for all cells.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scale_tests.benches.experiments.experiment import Experiment
from scale_tests.cluster.kube import Json
from scale_tests.measure.cells import Result
from scale_tests.measure.page import hardware

ELSEWHERE = "a cluster elsewhere"


def speedups(results: Sequence[Result]) -> dict[int, float]:
    """By the number of nodes, small clusters first: how many times as fast as configured."""
    return {cell.nodes: cell.speedup for cell in sorted(results, key=lambda cell: cell.nodes)}


def speedup_text(by_size: Mapping[int, float]) -> str:
    """Speedups, small clusters first, such as "30, from 256 nodes on 10"."""
    parts: list[str] = []
    last = None
    for nodes, speedup in by_size.items():
        if speedup != last:
            parts.append(f"from {nodes:,} nodes on {speedup:g}" if parts else f"{speedup:g}")
        last = speedup
    return ", ".join(parts)


def speed(results: Sequence[Result]) -> str:
    """The time-compression, as each table and caption states it."""
    by_size = speedups(results)
    if is_real_time(by_size):
        return "Real time."
    return f"Speedup {speedup_text(by_size)}."


def is_real_time(by_size: Mapping[int, float]) -> bool:
    """Whether no cluster counted faster than configured."""
    return all(speedup == 1 for speedup in by_size.values())


def compression(results: Sequence[Result]) -> list[str]:
    """What the speedup means, once for the whole page."""
    if is_real_time(speedups(results)):
        return []
    return [
        f"{speed(results)} Nodes count and propagate so many times as often as configured, in as "
        "much less time. The overlay's own timers are as they are, so that its share of the "
        "frames is that of the shortened time. Seconds at different speedups do not compare, "
        "propagation intervals do."
    ]


def versions(results: Sequence[Result]) -> dict[str, str]:
    """What took part, by name: its version, or each of several with the sizes of its cells."""
    names = dict.fromkeys(name for cell in results for name in cell.versions)
    return {name: _by_size(results, _version_of(name)) for name in names}


def machines(results: Sequence[Result]) -> list[Json]:
    """The machines of the cluster with the sizes of their cells; None for one elsewhere."""
    found: list[dict[str, Any]] = []
    for cell in sorted(results, key=lambda cell: cell.nodes):
        machine = dict(cell.machine) or None
        same = next((entry for entry in found if entry["machine"] == machine), None)
        if same is None:
            found.append({"machine": machine, "nodes": [cell.nodes]})
        elif cell.nodes not in same["nodes"]:
            same["nodes"].append(cell.nodes)
    return found


def machines_text(results: Sequence[Result]) -> str:
    """The same in words."""
    return _by_size(results, lambda cell: hardware(cell.machine) if cell.machine else ELSEWHERE)


def circumstances(experiment: Experiment, results: Sequence[Result]) -> list[str]:
    """What stands under each picture's title, in two lines: workload and speedup; what ran it."""
    counter = experiment.ad_counter
    where = {
        f"one machine of {cell.machine['cpus']} CPUs" if cell.machine else ELSEWHERE
        for cell in results
    }
    by_name = {
        name: ", ".join(dict.fromkeys(map(_version_of(name), results)))
        for name in ("otp", "source")
    }
    return [
        f"speedup {speedup_text(speedups(results))} · increment {counter.increment_interval}, "
        f"propagation {counter.propagation_interval} · {counter.increments} increments per node",
        f"{'; '.join(sorted(where))} · OTP {by_name['otp']}, partisan {by_name['source']}",
    ]


def _version_of(name: str) -> Callable[[Result], str]:
    return lambda cell: cell.versions.get(name, "unknown")


def _by_size(results: Sequence[Result], of: Callable[[Result], str]) -> str:
    """What `of` says of all cells; where they differ, each with the sizes of which it says it."""
    sizes: dict[str, set[int]] = {}
    for cell in sorted(results, key=lambda cell: cell.nodes):
        sizes.setdefault(of(cell), set()).add(cell.nodes)
    if len(sizes) == 1:
        return next(iter(sizes))
    return "; ".join(
        f"{value} ({', '.join(f'{nodes:,}' for nodes in sorted(of_value))} nodes)"
        for value, of_value in sizes.items()
    )
