"""From cells to ratios, bars, tables, a page."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from scale_tests.results.bars import Bar
from scale_tests.runtime.plan import KB, MB

Cell = dict[str, Any]

OF_RAW = 0.9
LARGE = (512 * KB, 8 * MB)
OVER_DISTERL = 6.5
OVER_DISTERL_RTT_MS = 20
HELD_UP = 2.0
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


def select(
    cells: Sequence[Cell], point: Point, system: str, *, flags: str | None = None
) -> list[Cell]:
    """The repetitions of a system at a point, in order; Distributed Erlang's at any of lanes."""
    wanted = {**vars(point), "system": system, "experiment": "throughput"}
    if flags is not None:
        wanted["flags"] = flags
    elif system == "ours":
        wanted["flags"] = "release"
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


def bars(cells: Sequence[Cell]) -> list[Bar]:
    """What is asked of the figures that were measured; throughput at the most pairs."""
    measured = [point for point in points(cells) if point.congestion == "reno" and point.affinity]
    most = max((point.pairs for point in measured), default=0)
    crowded = [point for point in measured if point.pairs == most]
    found: list[Bar] = []
    for point in crowded:
        ours = select(cells, point, "ours")
        if point.payload in LARGE:
            of_raw = ratio(ours, select(cells, point, "raw"))
            found += _at_least(f"{_where(point)}: of raw sockets", of_raw, OF_RAW)
        over = ratio(ours, select(cells, point, "disterl"))
        if point.payload in LARGE and point.rtt_ms == OVER_DISTERL_RTT_MS and point.lanes == 16:
            found += _at_least(f"{_where(point)}: over Distributed Erlang", over, OVER_DISTERL)
        if point.payload == KB:
            found += _at_least(f"{_where(point)}: over Distributed Erlang", over, 1.0)
    found += _held_up(cells)
    found += _dispatch(cells)
    return found


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


def pings(cells: Sequence[Cell]) -> dict[tuple[float, str], list[Cell]]:
    """The cells of the experiment with the ping, by RTT and system."""
    found: dict[tuple[float, str], list[Cell]] = {}
    for cell in cells:
        if cell["experiment"] == "ping":
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


def _at_least(name: str, value: Spread | None, bar: float) -> list[Bar]:
    if value is None:
        return []
    return [Bar(name=name, value=str(value), bar=f">= {bar:g}", ok=value.median >= bar)]


def _held_up(cells: Sequence[Cell]) -> list[Bar]:
    found = []
    for (rtt_ms, system), runs in pings(cells).items():
        if system == "ours":
            spread = growth(runs)
            found.append(
                Bar(
                    name=f"{rtt_ms:g} ms: p99 of a ping beside bulk, over idle",
                    value=str(spread),
                    bar=f"<= {HELD_UP:g}",
                    ok=spread.median <= HELD_UP,
                )
            )
    return found


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
