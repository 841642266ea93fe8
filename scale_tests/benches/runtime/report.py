"""From cells to ratios, targets, tables and a page.

Cells without an `experiment` are those of the footprint, which have a document of their own.
"""

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scale_tests.host.documents import data_of
from scale_tests.measure import spread
from scale_tests.measure.checks import Check, at_least, at_most
from scale_tests.measure.page import Table
from scale_tests.measure.spread import KB, Cell, Spread, having, medians, payload, read
from scale_tests.measure.tables import forms, tabulated

_DATA = data_of(__file__)

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
        if self.point is not None:
            return compared(cells, self.point, "ours", self.other, attempt=attempt)
        found = pings(cells, attempt=attempt)
        ours, other = (found.get((self.rtt_ms, system), []) for system in ("ours", self.other))
        return spread.ratio(ours, other, lambda run: float(run["loaded"]["p99_ms"]))


def select(
    cells: Sequence[Cell], point: Point, system: str, *, flags: str = "release", attempt: int = 0
) -> list[Cell]:
    """The repetitions of a system at a point, in order; Distributed Erlang's at any of lanes."""
    wanted = {**vars(point), **({"lanes": 1, "affinity": True} if system == "disterl" else {})}
    wanted |= {"system": system, "flags": flags, "attempt": attempt}
    return having(cells, experiment="throughput", **wanted)


def ratio(over: Sequence[Cell], under: Sequence[Cell]) -> Spread | None:
    """The ratio of throughput in each repetition; None where one side was not measured."""
    return spread.ratio(over, under, lambda cell: float(cell["mb_per_s"]))


def compared(
    cells: Sequence[Cell], point: Point, system: str, other: str, *, attempt: int = 0
) -> Spread | None:
    """The throughput of a system over that of another at a point."""
    return ratio(*(select(cells, point, one, attempt=attempt) for one in (system, other)))


def points(cells: Sequence[Cell]) -> list[Point]:
    """The points at which our system was measured, in order."""
    ours = having(cells, experiment="throughput", system="ours")
    return sorted(
        {read(Point, cell) for cell in ours},
        key=lambda p: (p.congestion != "reno", p.rtt_ms, p.payload, p.pairs, p.lanes, -p.affinity),
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
    found = [_check(target, cells) for target in targets(cells)]
    found += _dispatch_checks(having(cells, experiment="dispatch", destinations=16))
    for node in having(cells, experiment=None)[-1:]:
        pss, seconds = node["pss_mib"], node["cpu_seconds_to_joined"]
        name = f"PSS of an idle joined node, {node['processes']} of them, MiB"
        found.append(at_most(name, pss, PSS_MIB, shown=f"{pss:.1f}"))
        name = "processor time of a node from boot to joined, s"
        found.append(at_most(name, seconds, BOOT_CPU_SECONDS, shown=f"{seconds:.2f}"))
    return found


def tables(cells: Sequence[Cell]) -> dict[str, Table]:
    """All tables that have rows, by their titles."""
    weights = having(cells, experiment=None)
    sends: dict[tuple[str, str], list[float]] = defaultdict(list)
    for run in having(cells, experiment="dispatch"):
        sends[str(run["connections"]), str(run["destinations"])].append(run["ns_per_send"])
    parts = [part for weight in weights[-1:] for part in weight["parts_mib"].items()]
    found = {
        "Throughput: ours / raw / disterl": _throughput_table(cells),
        "The release's flags, 16 lanes: throughput over that with stock flags": Table(
            head=("RTT", "payload", "ratio"), rows=flag_rows(cells)
        ),
        "A 100-byte ping next to 8 MB messages on another channel": Table(
            head=("RTT", "system", "p99 idle, ms", "p99 loaded, ms", "growth", "bulk, MB/s"),
            rows=ping_rows(cells),
        ),
        "The cost of a send": Table(
            head=("connections", "destinations", "ns"),
            rows=[[*key, f"{statistics.median(values):.0f}"] for key, values in sends.items()],
        ),
        "Footprint, MiB": tabulated(forms(_DATA["footprint"]), weights),
        "Of what a node consists, MiB of PSS": Table(
            head=("part", "MiB"), rows=[[part, f"{mib:.1f}"] for part, mib in parts]
        ),
    }
    return {title: table for title, table in found.items() if table.rows}


def text(meta: Mapping[str, Any], _cells: Sequence[Cell]) -> list[str]:
    """Paragraphs for the page of a run."""
    return [_DATA["text"].format(**meta)]


def _throughput_table(cells: Sequence[Cell]) -> Table:
    """The throughputs: medians, and ratios with their spread."""
    head = ["RTT", "payload", "pairs", "lanes", "MB/s", "of raw", "over disterl", "p50 / p99 ms"]
    head += ["CPU a message, us", "memory, MB"]
    rows = []
    for point in points(cells):
        three = [select(cells, point, system) for system in ("ours", "raw", "disterl")]
        if not three[0]:
            continue
        congestion = "" if point.congestion == "reno" else f" {point.congestion}"
        rows.append(
            [
                f"{point.rtt_ms:g} ms{congestion}",
                payload(point.payload),
                str(point.pairs),
                f"{point.lanes}" + ("" if point.affinity else ", any"),
                medians(three, "mb_per_s"),
                *(str(ratio(three[0], other) or "-") for other in three[1:]),
                " / ".join(medians(three[:1], key) for key in ("p50_ms", "p99_ms")),
                medians(three, "cpu_us_per_message"),
                medians(three, "memory_mb"),
            ]
        )
    return Table(head=head, rows=rows)


def flag_rows(cells: Sequence[Cell]) -> list[list[str]]:
    """The effect of the release's flags: the throughput with them over that with stock flags."""
    rows = []
    for point in points(cells):
        stock = select(cells, point, "ours", flags="stock")
        if gain := ratio(select(cells, point, "ours"), stock):
            rows.append([f"{point.rtt_ms:g} ms", payload(point.payload), str(gain)])
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
    found: dict[tuple[float, str], list[Cell]] = defaultdict(list)
    for cell in having(cells, experiment="ping", attempt=attempt):
        found[cell["rtt_ms"], cell["system"]].append(cell)
    return dict(found)


def _target(point: Point, other: str, value: float) -> Target:
    over = {"raw": "of raw sockets", "disterl": "over Distributed Erlang"}[other]
    return Target(
        name=f"{_where(point)}: {over}", rtt_ms=point.rtt_ms, other=other, value=value, point=point
    )


def _check(target: Target, cells: Sequence[Cell]) -> Check:
    first, again = (target.found(cells, number) for number in (0, 1))
    assert first is not None
    limited = at_most if target.point is None else at_least
    shown = f"{first}, again {again}" if again else str(first)
    return limited(target.name, (again or first).median, target.value, shown=shown)


def _dispatch_checks(runs: Sequence[Cell]) -> list[Check]:
    if not runs:
        return []
    few, many = (pick(c["connections"] for c in runs) for pick in (min, max))
    over, under = (having(runs, connections=count) for count in (many, few))
    grown = spread.ratio(over, under, lambda run: float(run["ns_per_send"]))
    assert grown is not None
    name = f"cost of a send at {many} connections over that at {few}"
    return [at_most(name, grown.median, DISPATCH_GROWTH, shown=str(grown))]


def _where(point: Point) -> str:
    lanes = "1 lane" if point.lanes == 1 else f"{point.lanes} lanes"
    return f"{point.rtt_ms:g} ms, {payload(point.payload)}, {lanes}"
