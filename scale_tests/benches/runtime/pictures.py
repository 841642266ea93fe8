"""The pictures of a run."""

import statistics
from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from scale_tests.benches.runtime import report
from scale_tests.host.documents import data_of
from scale_tests.measure.drawing import PALETTE, Picture, curve, legend_below, panels, spreads
from scale_tests.measure.spread import Cell, Spread, error_bars, having, payload

_DATA = data_of(__file__)


def _microbenchmarks(figure: Figure, cells: Sequence[Cell]) -> bool:
    """Throughput over that of Distributed Erlang against pairs, where there are published ones."""
    pinned = [p for p in report.points(cells) if p.congestion == "reno" and p.affinity]
    measured = {(point.rtt_ms, point.payload) for point in pinned}
    places = [place for place in _DATA["published"] if tuple(place[:2]) in measured]
    if not places:
        return False
    for axes, (rtt_ms, size, ratio) in zip(panels(figure, len(places)), places, strict=True):
        for system, lanes, style in _DATA["microbenchmarks"]:
            ratios = [
                (point.pairs, spread)
                for point in pinned
                if (point.rtt_ms, point.payload, point.lanes) == (rtt_ms, size, lanes)
                and (spread := report.compared(cells, point, system, "disterl"))
            ]
            spreads(axes, ratios, fmt="o" + style, capsize=3, **_line(system, lanes))
        axes.plot(128, ratio, "*", color=PALETTE["orange"], markersize=13, label="published")
        axes.axhline(1, color=PALETTE["vermilion"], linewidth=1, label="Distributed Erlang")
        axes.set_xscale("log", base=2)
        axes.set(xlabel="pairs of processes", ylim=(0, None))
        axes.set_title(f"{payload(size)}, RTT {rtt_ms:g} ms", loc="left")
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
        for system, lanes, style in _DATA["throughput"]:
            shown = [
                (point.payload, statistics.median(c["mb_per_s"] for c in found))
                for point in points
                if (point.rtt_ms, point.pairs, point.lanes) == (rtt_ms, most, lanes)
                and (found := report.select(cells, point, system))
            ]
            curve(axes, shown, "o" + style, **_line(system, lanes))
        axes.set(xscale="log", yscale="log")
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
        for offset, load, colour, label in (
            (-0.18, "idle", "green", "idle"),
            (0.18, "loaded", "purple", "next to a stream of 8 MB messages"),
        ):
            spread = Spread.of(run[load]["p99_ms"] for run in runs)
            style: Any = {"color": PALETTE[colour], "label": label, "capsize": 3}
            axes.bar(index + offset, spread.median, 0.34, yerr=error_bars([spread]), **style)
    names = [[*_DATA["systems"][system][0].split(), f"{rtt:g} ms"] for rtt, system in found]
    axes.set_xticks(range(len(found)), map("\n".join, names), fontsize=8)
    axes.set(yscale="log", ylabel="p99 of a 100-byte ping, there and back, ms")
    legend_below(figure)
    return True


def _dispatch(figure: Figure, cells: Sequence[Cell]) -> bool:
    """The cost of a send for its caller against the number of connections."""
    runs = having(cells, experiment="dispatch")
    if not runs:
        return False
    axes = figure.subplots()
    counts = sorted({run["connections"] for run in runs})
    for label, name, few in (("to 16 of them", "blue", 16), ("to all of them", "orange", None)):
        colour = PALETTE[name]
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


def _line(system: str, lanes: int) -> dict[str, Any]:
    """The colour of a system, and its name with the lanes."""
    name, colour = _DATA["systems"][system]
    label = f"{name}, {lanes} {'lanes' if lanes > 1 else 'lane'}"
    return {"color": PALETTE[colour], "label": label}


PICTURES = [
    Picture(name=name, title=_DATA["titles"][name], plot=plot, size=(9, 4.2))
    for name, plot in (
        ("microbenchmarks", _microbenchmarks),
        ("throughput", _throughput),
        ("head-of-line", _head_of_line),
        ("dispatch", _dispatch),
    )
]
