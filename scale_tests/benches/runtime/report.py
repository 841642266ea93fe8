"""From cells to ratios, targets, tables and a page.

Cells without an `experiment` are those of the footprint, which have a document of their own.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scale_tests.benches.runtime.plan import KB, MB
from scale_tests.measure.checks import Check, at_most
from scale_tests.measure.page import Table
from scale_tests.measure.spread import Spread, short

Cell = dict[str, Any]

OF_RAW = 0.9
OVER_DISTERL = 1.0
LARGE = 512 * KB
MANY_LANES = 16
FAR_RTT_MS = 20
FAR_OVER_DISTERL = 6.5
PING_OF_RAW = 1.0
NEAR = 0.05
"""A target that is missed by less is measured again, with more repetitions."""

DISPATCH_GROWTH = 1.5
PSS_MIB = 16.0
BOOT_CPU_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class Point:
    """A point of comparison: everything a throughput depends on except the system."""

    rtt_ms: float
    payload: int
    pairs: int
    lanes: int
    affinity: bool = True
    congestion: str = "reno"


@dataclass(frozen=True, kw_only=True)
class Target:
    """A limit of the ratio of ours to another system's.

    `point` is None for the p99 of a ping next to bulk.
    """

    name: str
    rtt_ms: float
    other: str
    value: float
    point: Point | None = None

    def missed_by(self, found: Spread) -> float:
        """How far the median is on the wrong side; negative when it is on the right one."""
        return found.median - self.value if self.point is None else self.value - found.median

    def found(self, cells: Sequence[Cell], attempt: int) -> Spread | None:
        """The ratios of the repetitions of an attempt; None where it was not measured."""
        point = self.point
        if point is not None:
            return ratio(
                select(cells, point, "ours", attempt=attempt),
                select(cells, point, self.other, attempt=attempt),
            )
        found = pings(cells, attempt=attempt)
        ours, other = (found.get((self.rtt_ms, system), []) for system in ("ours", self.other))
        return ratio(ours, other, lambda run: float(run["loaded"]["p99_ms"]))


def select(
    cells: Sequence[Cell], point: Point, system: str, *, flags: str = "release", attempt: int = 0
) -> list[Cell]:
    """The repetitions of a system at a point, in order; Distributed Erlang's at any of lanes."""
    wanted = {**vars(point), "system": system, "experiment": "throughput"}
    wanted |= {"flags": flags, "attempt": attempt}
    if system == "disterl":
        wanted |= {"lanes": 1, "affinity": True}
    found = [cell for cell in cells if all(cell.get(k) == v for k, v in wanted.items())]
    return sorted(found, key=lambda cell: int(cell["repetition"]))


def ratio(
    over: Sequence[Cell],
    under: Sequence[Cell],
    figure: Callable[[Cell], float] = lambda cell: float(cell["mb_per_s"]),
) -> Spread | None:
    """The ratio of each repetition; None where one side was not measured."""
    pairs = list(zip(over, under, strict=False))
    return Spread.of(figure(a) / figure(b) for a, b in pairs) if pairs else None


def points(cells: Sequence[Cell]) -> list[Point]:
    """The points at which our system was measured, in order."""
    keys = ("rtt_ms", "payload", "pairs", "lanes", "affinity", "congestion")
    ours = [c for c in of(cells, "throughput") if c["system"] == "ours"]
    found = dict.fromkeys(Point(**{key: cell[key] for key in keys}) for cell in ours)
    return sorted(
        found,
        key=lambda p: (p.congestion != "reno", *(getattr(p, key) for key in keys[:4]), -p.affinity),
    )


def targets(cells: Sequence[Cell]) -> list[Target]:
    """The targets of the figures that were measured; throughput at the most pairs."""
    measured = [point for point in points(cells) if point.congestion == "reno" and point.affinity]
    most = max((point.pairs for point in measured), default=0)
    found = []
    for point in measured:
        if point.pairs != most:
            continue
        far = point.rtt_ms == FAR_RTT_MS and point.payload >= LARGE and point.lanes == MANY_LANES
        if point.payload > KB:
            found.append(_target(point, "raw", OF_RAW))
        found.append(_target(point, "disterl", FAR_OVER_DISTERL if far else OVER_DISTERL))
    found += [
        Target(
            name=f"{rtt_ms:g} ms: p99 of a ping next to bulk, of raw sockets",
            rtt_ms=rtt_ms,
            other="raw",
            value=PING_OF_RAW,
        )
        for rtt_ms, system in pings(cells)
        if system == "ours"
    ]
    return [target for target in found if target.found(cells, 0)]


def near_misses(cells: Sequence[Cell]) -> list[Target]:
    """The targets that were missed by little and not measured again yet."""
    return [
        target
        for target in targets(cells)
        if (first := target.found(cells, 0))
        and 0 < target.missed_by(first) < NEAR
        and not target.found(cells, 1)
    ]


def checks(cells: Sequence[Cell]) -> list[Check]:
    """Whether the targets are met; by the second measurement where there is one."""
    nodes = of(cells, None)[-1:]
    return [
        *(_check(target, cells) for target in targets(cells)),
        *_dispatch_checks(of(cells, "dispatch")),
        *(check for node in nodes for check in _footprint_checks(node)),
    ]


def _footprint_checks(node: Cell) -> list[Check]:
    pss, seconds = node["pss_mib"], node["cpu_seconds_to_joined"]
    return [
        at_most(
            f"PSS of an idle joined node, {node['processes']} of them, MiB",
            pss,
            PSS_MIB,
            shown=f"{pss:.1f}",
        ),
        at_most(
            "processor time of a node from boot to joined, s",
            seconds,
            BOOT_CPU_SECONDS,
            shown=f"{seconds:.2f}",
        ),
    ]


def tables(cells: Sequence[Cell]) -> dict[str, Table]:
    """All tables that have rows, by their titles."""
    sends = ("connections", "destinations")
    weights = of(cells, None)
    found = {
        "Throughput: ours / raw / disterl": throughput_table(cells),
        "The release's flags, 16 lanes: throughput over that with stock flags": Table(
            head=("RTT", "payload", "ratio"), rows=flag_rows(cells)
        ),
        "A 100-byte ping next to 8 MB messages on another channel": Table(
            head=("RTT", "system", "p99 idle, ms", "p99 loaded, ms", "growth", "bulk, MB/s"),
            rows=ping_rows(cells),
        ),
        "The cost of a send": Table(
            head=(*sends, "ns"), rows=_medians(of(cells, "dispatch"), sends, "ns_per_send")
        ),
        "Footprint, MiB": Table(
            head=("process", "how many", "PSS", "private"),
            rows=[
                [w["what"], str(w["processes"]), f"{w['pss_mib']:.1f}", f"{w['private_mib']:.1f}"]
                for w in weights
            ],
        ),
        "Of what a node consists, MiB of PSS": Table(
            head=("part", "MiB"),
            rows=[
                [part, f"{mib:.1f}"] for w in weights[-1:] for part, mib in w["parts_mib"].items()
            ],
        ),
    }
    return {title: table for title, table in found.items() if table.rows}


def text(meta: Mapping[str, Any], _cells: Sequence[Cell]) -> list[str]:
    """Paragraphs for the page of a run."""
    return [
        f"{meta['config']['repetitions']} repetitions, {meta['seconds']} s. What was found is a "
        "median, with the least and the largest value."
    ]


def of(cells: Sequence[Cell], experiment: str | None) -> list[Cell]:
    """The cells of one experiment, in their order."""
    return [cell for cell in cells if cell.get("experiment") == experiment]


def _medians(runs: Sequence[Cell], keys: Sequence[str], figure: str) -> list[list[str]]:
    found: dict[tuple[Any, ...], list[float]] = {}
    for run in runs:
        found.setdefault(tuple(run[key] for key in keys), []).append(run[figure])
    return [[*map(str, key), f"{statistics.median(values):.0f}"] for key, values in found.items()]


def throughput_table(cells: Sequence[Cell]) -> Table:
    """The throughputs: medians, and ratios with their spread."""
    head = ["RTT", "payload", "pairs", "lanes", "MB/s", "of raw", "over disterl", "p50 / p99 ms"]
    head += ["CPU a message, us", "memory, MB"]
    rows = []
    for point in points(cells):
        ours = select(cells, point, "ours")
        others = (select(cells, point, "raw"), select(cells, point, "disterl"))
        if not ours:
            continue
        all_three = (ours, *others)
        rows.append(
            [
                f"{point.rtt_ms:g} ms"
                + ("" if point.congestion == "reno" else " " + point.congestion),
                size(point.payload),
                str(point.pairs),
                f"{point.lanes}" + ("" if point.affinity else ", any"),
                _side_by_side(all_three, "mb_per_s"),
                *(str(ratio(ours, other) or "-") for other in others),
                f"{_median(ours, 'p50_ms')} / {_median(ours, 'p99_ms')}",
                _side_by_side(all_three, "cpu_us_per_message"),
                _side_by_side(all_three, "memory_mb"),
            ]
        )
    return Table(head=head, rows=rows)


def flag_rows(cells: Sequence[Cell]) -> list[list[str]]:
    """The effect of the release's flags: the throughput with them over that with stock flags."""
    rows = []
    for point in points(cells):
        stock = select(cells, point, "ours", flags="stock")
        if spread := ratio(select(cells, point, "ours"), stock):
            rows.append([f"{point.rtt_ms:g} ms", size(point.payload), str(spread)])
    return rows


def ping_rows(cells: Sequence[Cell]) -> list[list[str]]:
    """p99 of the ping, idle and loaded, and the bulk's throughput, by RTT and system."""
    rows = []
    for (rtt_ms, system), found in pings(cells).items():
        idle, loaded = ([c[load]["p99_ms"] for c in found] for load in ("idle", "loaded"))
        growth = statistics.median(b / a for a, b in zip(idle, loaded, strict=True))
        bulk = statistics.median(c["bulk_mb_per_s"] for c in found)
        spreads = (str(Spread.of(idle)), str(Spread.of(loaded)))
        rows.append([f"{rtt_ms:g} ms", system, *spreads, f"{growth:.2f}", f"{bulk:.0f}"])
    return rows


def pings(cells: Sequence[Cell], *, attempt: int = 0) -> dict[tuple[float, str], list[Cell]]:
    """The cells of the experiment with the ping, by RTT and system, in order."""
    found: dict[tuple[float, str], list[Cell]] = {}
    for cell in of(cells, "ping"):
        if cell["attempt"] == attempt:
            found.setdefault((cell["rtt_ms"], cell["system"]), []).append(cell)
    return found


def size(payload: int) -> str:
    """A payload in words: `512 KB`."""
    return f"{payload // MB} MB" if payload >= MB else f"{payload // KB} KB"


def _target(point: Point, other: str, value: float) -> Target:
    over = {"raw": "of raw sockets", "disterl": "over Distributed Erlang"}[other]
    return Target(
        name=f"{_where(point)}: {over}",
        rtt_ms=point.rtt_ms,
        other=other,
        value=value,
        point=point,
    )


def _check(target: Target, cells: Sequence[Cell]) -> Check:
    first, again = (target.found(cells, number) for number in (0, 1))
    assert first is not None
    return Check(
        name=target.name,
        value=f"{first}, again {again}" if again else str(first),
        bar=f"{'<=' if target.point is None else '>='} {target.value:g}",
        ok=target.missed_by(again or first) <= 0,
    )


def _dispatch_checks(cells: Sequence[Cell]) -> list[Check]:
    runs = [cell for cell in cells if cell["destinations"] == 16]
    if not runs:
        return []
    few, many = (pick(c["connections"] for c in runs) for pick in (min, max))
    over, under = ([c for c in runs if c["connections"] == count] for count in (many, few))
    spread = ratio(over, under, lambda run: float(run["ns_per_send"]))
    assert spread is not None
    name = f"cost of a send at {many} connections over that at {few}"
    return [at_most(name, spread.median, DISPATCH_GROWTH, shown=str(spread))]


def _where(point: Point) -> str:
    lanes = "1 lane" if point.lanes == 1 else f"{point.lanes} lanes"
    return f"{point.rtt_ms:g} ms, {size(point.payload)}, {lanes}"


def _side_by_side(systems: Sequence[Sequence[Cell]], key: str) -> str:
    return " / ".join(_median(cells, key) for cells in systems)


def _median(cells: Sequence[Cell], key: str) -> str:
    return short(statistics.median(cell[key] for cell in cells)) if cells else "-"
