"""From cells to ratios, targets, tables and a page."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from scale_tests.benches.ring.plan import LANES, MOST, PAYLOADS, SYSTEMS, WINDOW
from scale_tests.host.documents import data_of
from scale_tests.measure import spread
from scale_tests.measure.checks import Check, at_least
from scale_tests.measure.page import Table
from scale_tests.measure.spread import KB, Cell, Spread, having, medians, payload, short

Point = tuple[Any, ...]

POINT = (
    *("service", "overlay", "values", "reads", "storage_ms", "window"),
    *("rtt_ms", "payload", "actors"),
)
"""The keys on which a comparison of systems depends, next to lanes and channels."""


def _by_place(name: str) -> dict[tuple[str, int, int], float]:
    """Ratios over Distributed Erlang by service, milliseconds there and back, and bytes."""
    sizes = {payload(size): size for size in PAYLOADS}
    return {
        (service, rtt_ms, sizes[size]): value
        for service, lines in data_of(__file__)[name].items()
        for rtt_ms, values in lines.items()
        for size, value in values.items()
    }


PUBLISHED, TARGETS = _by_place("published"), _by_place("targets")

OF_RAW = 0.85


def points(cells: Sequence[Cell]) -> dict[Point, list[Cell]]:
    """The cells by their point, in order."""
    found: dict[Point, list[Cell]] = {}
    for cell in cells:
        found.setdefault(tuple(cell[key] for key in POINT), []).append(cell)
    return found


def select(cells: Sequence[Cell], system: str, lanes: int = LANES, channels: int = 0) -> list[Cell]:
    """The repetitions of a system at a point, in order; Distributed Erlang's at any of lanes."""
    lanes, channels = (1, 0) if system == "disterl" else (lanes, channels)
    return having(cells, system=system, lanes=lanes, channels=channels)


def ratio(over: Sequence[Cell], under: Sequence[Cell]) -> Spread | None:
    """The ratio of operations a second of each repetition; None where one was not measured.

    A system that completes nothing counts as half an operation in its time.
    """
    return spread.ratio(over, under, _rate)


def _rate(cell: Cell) -> float:
    return float(cell["ops_per_s"]) or 0.5 / float(cell["seconds"])


def checks(cells: Sequence[Cell]) -> list[Check]:
    """The targets, with the ceiling of raw sockets next to one that is missed."""
    found, least = [], []
    for point, own in points(cells).items():
        at = dict(zip(POINT, point, strict=True))
        if at["service"] == "history":
            found += [_judged(cell) for cell in own]
        if at["service"] not in ("echo", "kvs") or at["actors"] != MOST:
            continue
        ours, others, raw = (select(own, system) for system in SYSTEMS)
        over, ceiling, of_raw = ratio(ours, others), ratio(raw, others), ratio(ours, raw)
        if over and at["window"] == "default":
            least.append((over.median, _where(at)))
        is_far = at["rtt_ms"] > 1
        is_target = (at["window"] == WINDOW) == is_far and at["reads"] in (None, "full")
        if over and is_target and at["storage_ms"] in (None, 1):
            value = TARGETS[at["service"], at["rtt_ms"], at["payload"]]
            shown = str(over)
            if over.median < value and ceiling:
                shown += f"; raw sockets {ceiling}"
            found.append(
                at_least(f"{_where(at)}: over Distributed Erlang", over.median, value, shown=shown)
            )
        if of_raw and at["service"] == "echo":
            name = f"{_where(at)}: of raw sockets"
            found.append(at_least(name, of_raw.median, OF_RAW, shown=str(of_raw)))
    if least:
        worst, where = min(least)
        name = "the least ratio over Distributed Erlang with default windows"
        found.append(at_least(name, worst, 1.0, shown=f"{short(worst)}, {where}"))
    return found


def _judged(cell: Cell) -> Check:
    wrong = len(cell["not_linearizable"])
    name = f"{cell['operations']:,} operations on {cell['keys']} keys of the store, judged"
    found = f"{cell['violations']} violations, {wrong} keys not linearizable (Porcupine)"
    return Check(name=name, value=found, bar="none", ok=cell["violations"] == wrong == 0)


def tables(cells: Sequence[Cell]) -> dict[str, Table]:
    """A table for each service."""
    titles = {
        "echo": "Echo on a ring of three nodes",
        "kvs": "Key-value store on a ring of three nodes",
        "ack": "A message and its acknowledgement",
    }
    found = {
        title: _table([c for c in cells if c["service"] == name], name)
        for name, title in titles.items()
    }
    return {title: table for title, table in found.items() if table.rows}


def _table(cells: Sequence[Cell], service: str) -> Table:
    where = {
        "echo": ("window", "rtt_ms", "payload", "actors"),
        "kvs": ("values", "reads", "storage_ms", "window", "rtt_ms", "payload", "actors"),
        "ack": ("overlay", "rtt_ms", "payload", "actors"),
    }[service]
    head = [*where, *(["lanes", "channels"] if service == "ack" else []), "published"]
    head += ["over disterl", "of raw", "operations/s", "p50, ms", "p99, ms", "CPU, s"]
    more = {
        "kvs": {"found": "found", "timeouts": "timeouts"},
        "echo": {"remote_per_s": "between nodes, operations/s"},
    }.get(service, {})
    head += more.values()
    rows = []
    for point, own in points(cells).items():
        at = dict(zip(POINT, point, strict=True))
        shapes = dict.fromkeys((c["lanes"], c["channels"]) for c in own if c["system"] == "ours")
        for lanes, channels in shapes:
            ours, others = (select(own, s, lanes, channels) for s in SYSTEMS[:2])
            raw = select(own, "raw", channels or lanes)
            trio = (ours, others, raw)
            published = PUBLISHED.get((service, at["rtt_ms"], at["payload"]))
            is_published = published and at["actors"] == MOST and LANES in (lanes, channels)
            rows.append(
                [
                    *(payload(at[key]) if key == "payload" else str(at[key]) for key in where),
                    *([str(lanes), str(channels or "-")] if service == "ack" else []),
                    f"{published:g}" if is_published else "-",
                    *(str(ratio(ours, other) or "-") for other in (others, raw)),
                    *(medians(trio, key) for key in ("ops_per_s", "p50_ms", "p99_ms", "cpu_s")),
                    *(medians(trio, key) for key in more),
                ]
            )
    return Table(head=head, rows=rows)


def text(meta: Mapping[str, Any], cells: Sequence[Cell]) -> list[str]:
    """Paragraphs for the page of a run."""
    return [
        *(
            []
            if meta["complete"]
            else [f"**Not complete: {len(cells)} of {meta['config']['planned']} cells are done.**"]
        ),
        "Measured on " + ", ".join(_sittings(cells)) + ".",
        "Figures of several systems: this runtime / Distributed Erlang / raw sockets; medians, "
        "with the least and the largest value.",
        *_windows(cells),
    ]


def _sittings(cells: Sequence[Cell]) -> list[str]:
    """The days, each with the sources whose cells were measured on it."""
    found = sorted({(cell["day"], cell["source"]) for cell in cells})
    return [f"{day} ({source})" for day, source in found]


def _windows(cells: Sequence[Cell]) -> list[str]:
    """The bytes of a connection of Distributed Erlang in a round trip, from the echo cells."""
    found = []
    for point, own in points(cells).items():
        at = dict(zip(POINT, point, strict=True))
        disterl = select(own, "disterl")
        if at["service"] == "echo" and at["rtt_ms"] > 1 and at["actors"] == MOST and disterl:
            rate = statistics.median(float(cell["remote_per_s"]) for cell in disterl)
            found.append(
                f"{_where(at)}: Distributed Erlang completes {short(rate)} echoes a second between "
                "nodes, there and back, over six directed links: "
                f"{rate * at['payload'] * 2 / 6 * at['rtt_ms'] / 1e6:.0f} KB for each link and "
                "round trip."
            )
    return found


def line(cell: Cell) -> str:
    """A cell in one line."""
    shape = f"{cell['channels']} channels" if cell["channels"] else f"{cell['lanes']} lanes"
    at = {key: cell[key] for key in POINT}
    p99 = "-" if cell["p99_ms"] is None else f"{cell['p99_ms']:.0f}"
    return f"{_where(at)}, {cell['actors']} actors, {cell['system']}, {shape}: " + (
        f"{cell['ops_per_s']:.1f} operations/s, p99 {p99} ms"
    )


def _where(at: Mapping[str, Any]) -> str:
    parts = [at["service"], *([] if at["overlay"] == "full_mesh" else [at["overlay"]])]
    if at["values"]:
        parts += [at["values"], f"{at['reads']} reads", f"{at['storage_ms']} ms storage"]
    window = "default windows" if at["window"] == "default" else f"{at['window'] // KB} KiB windows"
    return ", ".join([*parts, f"{at['rtt_ms']} ms", payload(at["payload"]), window])
