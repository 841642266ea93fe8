"""Replicas of the ad counter: what they transmit, and how far they are behind."""

from __future__ import annotations

from matplotlib.figure import Figure

from scale_tests.benches.simulate import churn, drawing
from scale_tests.benches.simulate.drawing import Figures, Picture
from scale_tests.measure import synchronization
from scale_tests.measure.pictures import GREY

CHURN_SHOWN_SECONDS = 130
"""For how long replicas are shown after a fault: a partition of a minute, and what follows."""


def plot_synchronization(figure: Figure, figures: Figures) -> None:
    """What each way to synchronise transmits, against the number of nodes."""
    axes = figure.add_subplot()
    rows = synchronization.rows(figures)
    for mode in dict.fromkeys(row.mode for row in rows):
        own = [row for row in rows if row.mode == mode]
        axes.plot(
            [row.nodes for row in own],
            [row.payload for row in own],
            color=drawing.COLOURS[mode],
            marker=".",
            label=mode.capitalize(),
        )
        points = [(row.nodes, row.published) for row in own if row.published is not None]
        drawing.published(axes, points, drawing.COLOURS[mode])
    sizes = sorted({row.nodes for row in rows})
    axes.plot(
        sizes,
        [synchronization.least(size) for size in sizes],
        color=GREY,
        linestyle=":",
        label="the final counts once to every node",
    )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.set_xlabel("nodes")
    axes.set_ylabel("payload transmitted in 30 minutes, GiB")
    drawing.legend(axes)


def plot_churn_behind(figure: Figure, figures: Figures) -> None:
    """How far replicas of the ad counter are behind, in each mode."""
    panels = figure.subplots(1, 2, sharey=True)
    for axes, mode in zip(panels, ("delta", "tree"), strict=True):
        for fault in ("kill_10", "kill_30", "kill_50", "churn", "partition"):
            own = [c for c in figures if c.experiment == f"{churn.BEHIND}_{mode}"]
            # The churn goes on as it begins.
            drawing.line(axes, [c for c in own if float(c.parameter) <= CHURN_SHOWN_SECONDS], fault)
        axes.set_title(mode.capitalize(), loc="left", fontsize=10)
        axes.set_xlabel("seconds since the fault began")
    panels[0].set_ylabel("mean replica behind, seconds of counting")
    panels[0].set_ylim(bottom=0)
    handles = {
        label: h for a in panels for h, label in zip(*a.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=3)


PICTURES = (
    Picture(
        name="synchronization",
        title="transmission of the ad counter",
        experiment=synchronization.EXPERIMENT,
        plot=plot_synchronization,
        every_size=True,
    ),
    Picture(
        name="churn_behind",
        title="the ad counter under faults",
        experiment=churn.BEHIND,
        plot=plot_churn_behind,
    ),
)
