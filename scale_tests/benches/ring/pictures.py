"""The pictures of a run, next to the published figures."""

from collections.abc import Sequence
from functools import partial

from matplotlib.figure import Figure
from matplotlib.ticker import LogFormatter

from scale_tests.benches.ring import report
from scale_tests.benches.ring.plan import ACTORS, MOST, WINDOW
from scale_tests.measure.drawing import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    VERMILION,
    Picture,
    legend_below,
    panels,
)
from scale_tests.measure.spread import KB, MB, Cell, having, payload


def _ratios(service: str, figure: Figure, cells: Sequence[Cell]) -> bool:
    """Operations over those of Distributed Erlang against actors, a panel for each line."""
    own = [
        cell
        for cell in having(cells, service=service, overlay="full_mesh")
        if (cell["values"], cell["reads"], cell["storage_ms"])
        in ((None, None, None), ("cold", "full", 1))
    ]
    places = [(rtt, size) for rtt in (1, 20) for size in (512 * KB, 8 * MB)]
    if not own:
        return False
    for axes, (rtt, size) in zip(panels(figure, len(places)), places, strict=True):
        here = having(own, rtt_ms=rtt, payload=size)
        for window, style in (("default", "-"), (WINDOW, "--")):
            for system, name, colour in (("ours", "this runtime", BLUE), ("raw", "raw", GREY)):
                curve = []
                for actors in sorted({cell["actors"] for cell in here}):
                    at = having(here, window=window, actors=actors)
                    own_system, disterl = (report.select(at, s) for s in (system, "disterl"))
                    if found := report.ratio(own_system, disterl):
                        curve.append((actors, found.median))
                if curve:
                    windows = "default windows" if window == "default" else "256 KiB windows"
                    label = f"{name}, {windows}"
                    axes.plot(*zip(*curve, strict=True), "o" + style, color=colour, label=label)
        if published := report.PUBLISHED.get((service, rtt, size)):
            axes.plot(MOST, published, "*", color=ORANGE, markersize=13, label="published")
        if target := report.TARGETS.get((service, rtt, size)):
            axes.plot(MOST, target, "_", color=GREEN, markersize=16, label="target")
        axes.axhline(1, color=VERMILION, linewidth=1, label="Distributed Erlang")
        axes.set_xscale("log", base=2)
        axes.set_xticks(ACTORS, map(str, ACTORS))
        axes.set(yscale="log", xlabel="actors a node")
        # As numbers, not as powers of ten.
        axes.yaxis.set_major_formatter(LogFormatter())
        axes.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))
        axes.set_title(f"{payload(size)}, RTT {rtt} ms", loc="left")
    figure.axes[0].set_ylabel("operations over those of\nDistributed Erlang in the same run")
    legend_below(figure)
    return True


PICTURES = tuple(
    Picture(name=name, title=title, plot=partial(_ratios, name), size=(12, 4.5))
    for name, title in (
        ("echo", "Echo on a ring of three nodes, over Distributed Erlang"),
        ("kvs", "Key-value store on a ring of three nodes, cold, over Distributed Erlang"),
        ("ack", "A message and its acknowledgement, over Distributed Erlang"),
    )
)
