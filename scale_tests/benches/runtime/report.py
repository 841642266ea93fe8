"""From cells to ratios, bars, tables, a page."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from scale_tests.benches.runtime.plan import KB, MB
from scale_tests.measure.bars import Bar

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
class Spread:
    """A median and the extremes around it."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> Spread:
        """The spread of at least one value."""
        found = sorted(values)
        return cls(median=statistics.median(found), low=found[0], high=found[-1])

    def __str__(self) -> str:
        return f"{_short(self.median)} ({_short(self.low)} to {_short(self.high)})"


@dataclass(frozen=True, kw_only=True)
class Point:
    """Where systems are compared: all that a throughput depends on but the system."""

    rtt_ms: float
    payload: int
    pairs: int
    lanes: int
    affinity: bool = True
    congestion: str = "reno"


@dataclass(frozen=True, kw_only=True)
class Target:
    """A ratio of ours to another system's, and the least or the most that it is to be.

    `point` is None for the p99 of a ping beside bulk.
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
        """The ratios of the repetitions of a attempt; None where it was not measured."""
        if self.point is not None:
            ours, other = (
                select(cells, self.point, system, attempt=attempt)
                for system in ("ours", self.other)
            )
            return ratio(ours, other)
        ours, other = (
            pings(cells, attempt=attempt).get((self.rtt_ms, system), [])
            for system in ("ours", self.other)
        )
        both = list(zip(ours, other, strict=False))
        return (
            Spread.of(a["loaded"]["p99_ms"] / b["loaded"]["p99_ms"] for a, b in both)
            if both
            else None
        )


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


def ratio(over: Sequence[Cell], under: Sequence[Cell], key: str = "mb_per_s") -> Spread | None:
    """The ratio of each repetition; None where one side was not measured."""
    pairs = list(zip(over, under, strict=False))
    return Spread.of(a[key] / b[key] for a, b in pairs) if pairs else None


def points(cells: Sequence[Cell]) -> list[Point]:
    """Where our system was measured, in order."""
    keys = ("rtt_ms", "payload", "pairs", "lanes", "affinity", "congestion")
    ours = [c for c in cells if c["experiment"] == "throughput" and c["system"] == "ours"]
    found = dict.fromkeys(Point(**{key: cell[key] for key in keys}) for cell in ours)
    return sorted(
        found,
        key=lambda p: (
            p.congestion != "reno",
            p.rtt_ms,
            p.payload,
            p.pairs,
            p.lanes,
            not p.affinity,
        ),
    )


def targets(cells: Sequence[Cell]) -> list[Target]:
    """What is asked of the figures that were measured; throughput at the most pairs."""
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
            name=f"{rtt_ms:g} ms: p99 of a ping beside bulk, of raw sockets",
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


def bars(cells: Sequence[Cell]) -> list[Bar]:
    """Whether the targets are met; by the second measurement where there is one."""
    return [_bar(target, cells) for target in targets(cells)] + _dispatch(cells)


def footprint_bars(cells: Sequence[Cell]) -> list[Bar]:
    """What is asked of a node's memory and of its start."""
    node = cells[-1]
    return [
        Bar(
            name=f"PSS of an idle joined node, {node['processes']} of them, MiB",
            value=f"{node['pss_mib']:.1f}",
            bar=f"<= {PSS_MIB:g}",
            ok=node["pss_mib"] <= PSS_MIB,
        ),
        Bar(
            name="processor time of a node from boot to joined, s",
            value=f"{node['cpu_seconds_to_joined']:.2f}",
            bar=f"<= {BOOT_CPU_SECONDS:g}",
            ok=node["cpu_seconds_to_joined"] <= BOOT_CPU_SECONDS,
        ),
    ]


def throughput_rows(cells: Sequence[Cell]) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of the table of throughputs: medians, and ratios with their spread."""
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
                _beside(all_three, "mb_per_s"),
                *(str(ratio(ours, other) or "-") for other in others),
                f"{_median(ours, 'p50_ms')} / {_median(ours, 'p99_ms')}",
                _beside(all_three, "cpu_us_per_message"),
                _beside(all_three, "memory_mb"),
            ]
        )
    return head, rows


def flag_rows(cells: Sequence[Cell]) -> list[list[str]]:
    """What the release's flags cost: the throughput with them over that with stock flags."""
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
        rows.append(
            [
                f"{rtt_ms:g} ms",
                system,
                str(Spread.of(c["idle"]["p99_ms"] for c in found)),
                str(Spread.of(c["loaded"]["p99_ms"] for c in found)),
                f"{growth(found).median:.2f}",
                f"{statistics.median(c['bulk_mb_per_s'] for c in found):.0f}",
            ]
        )
    return rows


def pings(cells: Sequence[Cell], *, attempt: int = 0) -> dict[tuple[float, str], list[Cell]]:
    """The cells of the experiment with the ping, by RTT and system, in order."""
    found: dict[tuple[float, str], list[Cell]] = {}
    for cell in cells:
        if cell["experiment"] == "ping" and cell["attempt"] == attempt:
            found.setdefault((cell["rtt_ms"], cell["system"]), []).append(cell)
    return found


def growth(found: Sequence[Cell]) -> Spread:
    """By how much the p99 of the ping grows beside the bulk."""
    return Spread.of(c["loaded"]["p99_ms"] / c["idle"]["p99_ms"] for c in found)


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table for the terminal."""
    shown = Table(title=title)
    for column in head:
        shown.add_column(column)
    for row in rows:
        shown.add_row(*row)
    return shown


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


def _bar(target: Target, cells: Sequence[Cell]) -> Bar:
    first, again = (target.found(cells, number) for number in (0, 1))
    assert first is not None
    return Bar(
        name=target.name,
        value=f"{first}, again {again}" if again else str(first),
        bar=f"{'<=' if target.point is None else '>='} {target.value:g}",
        ok=target.missed_by(again or first) <= 0,
    )


def _dispatch(cells: Sequence[Cell]) -> list[Bar]:
    runs = [c for c in cells if c["experiment"] == "dispatch" and c["destinations"] == 16]
    if not runs:
        return []
    few, many = (pick(c["connections"] for c in runs) for pick in (min, max))
    spread = Spread.of(
        a["ns_per_send"] / b["ns_per_send"]
        for a, b in zip(
            (c for c in runs if c["connections"] == many),
            (c for c in runs if c["connections"] == few),
            strict=True,
        )
    )
    return [
        Bar(
            name=f"cost of a send at {many} connections over that at {few}",
            value=str(spread),
            bar=f"<= {DISPATCH_GROWTH:g}",
            ok=spread.median <= DISPATCH_GROWTH,
        )
    ]


def _where(point: Point) -> str:
    lanes = "1 lane" if point.lanes == 1 else f"{point.lanes} lanes"
    return f"{point.rtt_ms:g} ms, {size(point.payload)}, {lanes}"


def _beside(systems: Sequence[Sequence[Cell]], key: str) -> str:
    return " / ".join(_median(cells, key) for cells in systems)


def _median(cells: Sequence[Cell], key: str) -> str:
    return _short(statistics.median(cell[key] for cell in cells)) if cells else "-"


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
