"""The pictures of a run."""

import statistics
from collections.abc import Sequence

from matplotlib.figure import Figure

from scale_tests.benches.runtime import report
from scale_tests.measure.drawing import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    VERMILION,
    Picture,
    legend_below,
    panels,
    spreads,
)
from scale_tests.measure.spread import KB, MB, Cell, Spread, error_bars, having, payload

PUBLISHED = {(1.0, 512 * KB): 1.9, (20.0, 512 * KB): 13.4, (1.0, 8 * MB): 3.7}
"""Throughput over that of Distributed Erlang as Partisan's authors published it, with 128 pairs and
16 connections, by RTT in milliseconds and payload; OTP of 2018, on another machine."""

_COLOURS = {"ours": BLUE, "raw": GREY, "disterl": VERMILION}
_NAMES = {"ours": "this runtime", "raw": "raw sockets", "disterl": "Distributed Erlang"}


def _microbenchmarks(figure: Figure, cells: Sequence[Cell]) -> bool:
    """Throughput over that of Distributed Erlang against pairs, where there are published ones."""
    places = [p for p in PUBLISHED if any(_at(point, p) for point in report.points(cells))]
    if not places:
        return False
    for axes, place in zip(panels(figure, len(places)), places, strict=True):
        for system, lanes, style in (("ours", 16, "-"), ("ours", 1, "--"), ("raw", 16, ":")):
            ratios = [
                (point.pairs, spread)
                for point in report.points(cells)
                if _at(point, place)
                and point.lanes == lanes
                and (spread := report.compared(cells, point, system, "disterl"))
            ]
            label, colour = _label(system, lanes), _COLOURS[system]
            spreads(axes, ratios, fmt="o" + style, capsize=3, color=colour, label=label)
        axes.plot(128, PUBLISHED[place], "*", color=ORANGE, markersize=13, label="published")
        axes.axhline(1, color=VERMILION, linewidth=1, label="Distributed Erlang")
        axes.set_xscale("log", base=2)
        axes.set(xlabel="pairs of processes", ylim=(0, None))
        axes.set_title(f"{payload(place[1])}, RTT {place[0]:g} ms", loc="left")
    figure.axes[0].set_ylabel("throughput over that of\nDistributed Erlang in the same run")
    legend_below(figure)
    return True


def _throughput(figure: Figure, cells: Sequence[Cell]) -> bool:
    """Throughput by payload at the most pairs, a panel for each RTT."""
    points = [p for p in report.points(cells) if p.congestion == "reno" and p.affinity]
    if not points:
        return False
    most = max(point.pairs for point in points)
    delays = sorted({point.rtt_ms for point in points})
    for axes, rtt_ms in zip(panels(figure, len(delays)), delays, strict=True):
        for system, lanes in (("ours", 16), ("ours", 1), ("raw", 16), ("raw", 1), ("disterl", 1)):
            style = "-" if lanes > 1 else "--"
            shown = [
                (point.payload, statistics.median(c["mb_per_s"] for c in found))
                for point in points
                if point.rtt_ms == rtt_ms
                and point.pairs == most
                and point.lanes == lanes
                and (found := report.select(cells, point, system))
            ]
            points_shown = tuple(zip(*shown, strict=True)) or ((), ())
            label = _label(system, lanes)
            axes.loglog(*points_shown, "o" + style, color=_COLOURS[system], label=label)
        payloads = sorted({point.payload for point in points})
        axes.set_xticks(payloads, [payload(size) for size in payloads], rotation=30)
        axes.set_xticks([], minor=True)
        axes.set_title(f"RTT {rtt_ms:g} ms", loc="left")
    figure.axes[0].set_ylabel(f"MB/s, {most} pairs")
    legend_below(figure)
    return True


def _head_of_line(figure: Figure, cells: Sequence[Cell]) -> bool:
    """p99 of a ping, idle and next to bulk."""
    found = report.pings(cells)
    if not found:
        return False
    axes = figure.subplots()
    for index, runs in enumerate(found.values()):
        for offset, load, colour in ((-0.18, "idle", GREEN), (0.18, "loaded", PURPLE)):
            spread = Spread.of(run[load]["p99_ms"] for run in runs)
            axes.bar(
                index + offset,
                spread.median,
                0.34,
                color=colour,
                yerr=error_bars([spread]),
                capsize=3,
                label="idle" if load == "idle" else "next to a stream of 8 MB messages",
            )
    axes.set_yscale("log")
    axes.set_xticks(
        range(len(found)),
        ["\n".join([*_NAMES[system].split(), f"{rtt:g} ms"]) for rtt, system in found],
        fontsize=8,
    )
    axes.set_ylabel("p99 of a 100-byte ping, there and back, ms")
    legend_below(figure)
    return True


def _dispatch(figure: Figure, cells: Sequence[Cell]) -> bool:
    """The cost of a send for its caller against the number of connections."""
    runs = having(cells, experiment="dispatch")
    if not runs:
        return False
    axes = figure.subplots()
    counts = sorted({run["connections"] for run in runs})
    for label, colour, few in (("to 16 of them", BLUE, 16), ("to all of them", ORANGE, None)):
        costs = [
            Spread.of(
                run["ns_per_send"]
                for run in having(runs, connections=count, destinations=few or count)
            )
            for count in counts
        ]
        axes.plot(counts, [s.median for s in costs], "o-", color=colour, label=label)
        axes.fill_between(
            counts, [s.low for s in costs], [s.high for s in costs], color=colour, alpha=0.15
        )
    axes.set_xscale("log", base=2)
    axes.set(xlabel="connections of the node", ylabel="ns a send, for the caller", ylim=(0, None))
    axes.legend()
    return True


def _label(system: str, lanes: int) -> str:
    return f"{_NAMES[system]}, {lanes} {'lanes' if lanes > 1 else 'lane'}"


def _at(point: report.Point, place: tuple[float, int]) -> bool:
    return (point.rtt_ms, point.payload) == place and point.congestion == "reno" and point.affinity


PICTURES = tuple(
    Picture(name=name, title=title, plot=plot, size=(9, 4.2))
    for name, title, plot in (
        ("microbenchmarks", "Throughput over that of Distributed Erlang", _microbenchmarks),
        ("throughput", "Throughput by payload", _throughput),
        ("head-of-line", "A ping next to bulk on another channel", _head_of_line),
        ("dispatch", "The cost of a send", _dispatch),
    )
)
