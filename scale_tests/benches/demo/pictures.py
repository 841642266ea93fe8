"""The pictures of a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import chain
from statistics import median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from scale_tests.benches.demo.sample import Line, Sample, rates, replica_values, sent_bytes
from scale_tests.host.units import size
from scale_tests.measure.drawing import BLUE, CYCLE, GREY, SKY, VERMILION, Picture, legend_below


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
    for label, colour, style, count in lines:
        axes.step(
            [0.0] + [s.seconds for s in shown],
            [0] + [count(s) for s in shown],
            where="post",
            label=label,
            color=colour,
            linestyle=style,
            linewidth=2,
        )
    axes.axhline(wanted, color=GREY, linewidth=0.8)
    axes.set_ylabel("pods")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    _finish(figure)


def plot_impressions(figure: Figure, samples: Sequence[Sample]) -> None:
    """The replicas' counts with the threshold, and how far they are behind the first: medians."""
    top: Axes
    bottom: Axes
    top, bottom = figure.subplots(2, height_ratios=(2, 1), sharex=True)
    first = {sample.seconds: sample.values[1] for sample in samples}
    lines = replica_values(samples).values()
    counts: defaultdict[float, list[float]] = defaultdict(list)
    lags: defaultdict[float, list[float]] = defaultdict(list)
    for seconds, value in chain.from_iterable(lines):
        counts[seconds].append(value)
        lags[seconds].append(first[seconds] - value)
    for axes, values in ((top, counts), (bottom, lags)):
        times = sorted(values)
        least, most = ([extreme(values[t]) for t in times] for extreme in (min, max))
        axes.fill_between(
            times,
            least,
            most,
            color=SKY,
            alpha=0.5,
            linewidth=0,
            label=f"all {len(lines)} replicas",
        )
        _plot(axes, [(t, median(values[t])) for t in times], color=BLUE, label="median")
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
        _plot(axes, rates(line), color=CYCLE[index % len(CYCLE)], linewidth=1.6, label=label)
    axes.set_ylabel("sent per second, all nodes")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: size(value).replace(".0 ", " ")))
    _finish(figure)


PICTURES: tuple[Picture[Sequence[Sample]], ...] = (
    Picture(name="formation", title="Formation of the overlay", plot=plot_formation),
    Picture(
        name="impressions",
        title="The counter, as every replica sees it",
        plot=plot_impressions,
        size=(8, 5.5),
    ),
    Picture(name="channels", title="Traffic by channel", plot=plot_channels),
)


def _plot(axes: Axes, line: Line, **style: Any) -> None:
    axes.plot([seconds for seconds, _ in line], [value for _, value in line], **style)


def _finish(figure: Figure) -> None:
    """Apply the settings that all pictures share."""
    figure.axes[-1].set_xlabel("seconds since kubectl apply")
    figure.axes[-1].set_xlim(left=0)
    for axes in figure.axes:
        axes.set_ylim(bottom=0)
    legend_below(figure)
