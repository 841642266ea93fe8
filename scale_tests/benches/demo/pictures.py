"""The pictures of a run."""

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from scale_tests.benches.demo.sample import Sample, sent_bytes
from scale_tests.cluster.sampler import slopes
from scale_tests.host.units import size
from scale_tests.measure.drawing import (
    BLUE,
    CYCLE,
    GREY,
    SKY,
    VERMILION,
    curve,
    described,
    legend_below,
)

RATE_SECONDS = 3.0
"""The window over which a rate is taken, which smooths the jitter."""


def plot_formation(figure: Figure, samples: Sequence[Sample]) -> None:
    """Pods created, ready and joined, against time, until shortly after all have joined."""
    axes = figure.add_subplot()
    formed = next((s.seconds for s in samples if s.joined == s.cluster.replicas_wanted), None)
    shown = [s for s in samples if formed is None or s.seconds <= formed * 1.5 + 2]
    wanted = samples[-1].cluster.replicas_wanted
    lines: tuple[tuple[str, str, str, Callable[[Sample], int]], ...] = (
        ("created", SKY, ":", lambda s: s.pods.created),
        ("ready", BLUE, "--", lambda s: s.pods.ready),
        ("joined the overlay", VERMILION, "-", lambda s: s.joined),
    )
    seconds = [0.0, *(sample.seconds for sample in shown)]
    for label, colour, style, count in lines:
        form: Any = {"where": "post", "label": label, "color": colour, "linewidth": 2}
        axes.step(seconds, [0, *map(count, shown)], style, **form)
    axes.axhline(wanted, color=GREY, linewidth=0.8)
    axes.set_ylabel("pods")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    _finish(figure)


def plot_impressions(figure: Figure, samples: Sequence[Sample]) -> None:
    """The replicas' counts with the threshold, and how far they are behind the first: medians."""
    top, bottom = figure.subplots(2, height_ratios=(2, 1), sharex=True)
    counts = {s.seconds: [node.value for node in s.nodes] for s in samples if s.nodes}
    lags = {second: [max(held) - value for value in held] for second, held in counts.items()}
    replicas = len({node.name for sample in samples for node in sample.nodes})
    shade: Any = {"color": SKY, "alpha": 0.5, "linewidth": 0, "label": f"all {replicas} replicas"}
    for axes, values in ((top, counts), (bottom, lags)):
        least, most = ([extreme(held) for held in values.values()] for extreme in (min, max))
        axes.fill_between([*values], least, most, **shade)
        curve(axes, ((t, median(held)) for t, held in values.items()), color=BLUE, label="median")
    threshold = samples[-1].cluster.workload.threshold
    if threshold:
        top.axhline(threshold, color=VERMILION, linestyle="--", label=f"threshold {threshold}")
    top.set_ylabel("impressions counted")
    bottom.set_ylabel("behind the first")
    _finish(figure)


def plot_channels(figure: Figure, samples: Sequence[Sample]) -> None:
    """Bytes per second that all nodes sent on each channel; the legend has the totals."""
    axes = figure.add_subplot()
    for index, (channel, line) in enumerate(sorted(sent_bytes(samples).items())):
        label = f"{channel}: {size(line[-1][1])} in all"
        colour = CYCLE[index % len(CYCLE)]
        curve(axes, slopes(line, RATE_SECONDS), color=colour, linewidth=1.6, label=label)
    axes.set_ylabel("sent per second, all nodes")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: size(value).replace(".0 ", " ")))
    _finish(figure)


def _finish(figure: Figure) -> None:
    """Apply the settings that all pictures share."""
    figure.axes[-1].set_xlabel("seconds since kubectl apply")
    figure.axes[-1].set_xlim(left=0)
    for axes in figure.axes:
        axes.set_ylim(bottom=0)
    legend_below(figure)


PICTURES = described(__file__, plot_formation, plot_impressions, plot_channels)
