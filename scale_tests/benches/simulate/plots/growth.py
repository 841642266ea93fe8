"""The overlay against the number of its nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scale_tests.benches.simulate import curves
from scale_tests.benches.simulate.curves import Row
from scale_tests.benches.simulate.drawing import Figures, Picture
from scale_tests.measure.pictures import BLUE, GREEN, ORANGE

Of = Callable[[Row], float]


def plot_growth(figure: Figure, figures: Figures) -> None:
    """Joining, degree, broadcasts and traffic, each in a panel of its own."""
    rows = curves.rows(figures)
    (joining, degree), (broadcasts, traffic) = figure.subplots(2, 2, sharex=True)
    _line(joining, rows, lambda row: row.join_seconds_median, BLUE, "median node")
    _line(joining, rows, lambda row: row.join_seconds_most, ORANGE, "slowest node")
    _line(joining, rows, lambda row: row.whole_seconds, GREEN, "one component")
    joining.set_ylabel("seconds from the start")
    _line(degree, rows, lambda row: row.mean_degree, BLUE, "mean")
    degree.fill_between(
        [row.nodes for row in rows],
        [row.least_degree for row in rows],
        [row.most_degree for row in rows],
        color=BLUE,
        alpha=0.15,
        linewidth=0,
        label="least to most",
    )
    degree.set_ylabel("neighbours")
    _line(broadcasts, rows, lambda row: row.broadcast_hops, BLUE, "hops")
    _line(
        broadcasts, rows, lambda row: 100 * row.broadcast_seconds, ORANGE, "hundredths of a second"
    )
    broadcasts.set_ylabel("until the last node hears")
    _line(traffic, rows, lambda row: row.forming_bytes_per_node / 1000, ORANGE, "forming, kB")
    _line(traffic, rows, lambda row: row.bytes_per_node_second / 1000, BLUE, "settled, kB/s")
    traffic.set_ylabel("sent by a node")
    for axes in (joining, degree, broadcasts, traffic):
        axes.set_xscale("log")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=8)
    for axes in (broadcasts, traffic):
        axes.set_xticks([row.nodes for row in rows], [f"{row.nodes:,}" for row in rows])
        axes.minorticks_off()
        axes.set_xlabel("nodes")


def _line(axes: Axes, rows: Sequence[Row], of: Of, colour: str, label: str) -> None:
    axes.plot(
        [row.nodes for row in rows],
        [of(row) for row in rows],
        color=colour,
        marker=".",
        label=label,
    )


PICTURES = (
    Picture(
        name="scale_curves",
        title="the overlay against its size",
        experiment=curves.EXPERIMENT,
        plot=plot_growth,
        every_size=True,
    ),
)
