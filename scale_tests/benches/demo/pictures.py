"""The pictures of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from scale_tests.benches.demo.samples import Point, Sample, rates, replica_values, sent_bytes
from scale_tests.host.units import size
from scale_tests.measure.pictures import BLUE, CYCLE, GREY, SKY, STYLE, VERMILION, save


def draw(samples: Sequence[Sample], directory: Path, subtitle: str) -> list[Path]:
    """Draws every picture of a run into `directory` and returns the files."""
    files: list[Path] = []
    for picture in PICTURES:
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=(8, picture.height), layout="constrained")
            top = picture.plot(figure, samples)
            top.set_title(picture.title, loc="left", pad=22, fontweight="bold")
            top.annotate(
                subtitle,
                xy=(0, 1),
                xycoords="axes fraction",
                xytext=(0, 8),
                textcoords="offset points",
                fontsize=8,
                color=GREY,
            )
            bottom = figure.axes[-1]
            bottom.set_xlabel("seconds since kubectl apply")
            bottom.set_xlim(left=0)
            for axes in figure.axes:
                axes.set_ylim(bottom=0)
            if any(axes.get_legend_handles_labels()[0] for axes in figure.axes):
                figure.legend(loc="outside lower center", ncols=3)
            files += save(figure, directory, picture.name)
    return files


def plot_formation(figure: Figure, samples: Sequence[Sample]) -> Axes:
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
    return axes


def plot_impressions(figure: Figure, samples: Sequence[Sample]) -> Axes:
    """Every replica's count with the threshold; below, by how much each lags the foremost."""
    top: Axes
    bottom: Axes
    top, bottom = figure.subplots(2, height_ratios=(2, 1), sharex=True)
    foremost = {sample.seconds: sample.values[1] for sample in samples}
    lines = replica_values(samples)
    for index, line in enumerate(lines.values()):
        label = f"one of {len(lines)} replicas" if index == 0 else None
        lag = [Point(p.seconds, foremost[p.seconds] - p.value) for p in line]
        _plot(top, line, color=BLUE, linewidth=0.5, alpha=0.5, label=label)
        _plot(bottom, lag, color=BLUE, linewidth=0.5, alpha=0.5)
    threshold = samples[-1].cluster.workload.threshold
    if threshold:
        top.axhline(threshold, color=VERMILION, linestyle="--", label=f"threshold {threshold}")
    top.set_ylabel("impressions counted")
    bottom.set_ylabel("behind foremost")
    return top


def plot_channels(figure: Figure, samples: Sequence[Sample]) -> Axes:
    """Bytes per second that all nodes sent on each channel; the legend has the totals."""
    axes = figure.add_subplot()
    for index, (channel, line) in enumerate(sorted(sent_bytes(samples).items())):
        label = f"{channel}: {size(line[-1].value)} in all"
        _plot(axes, rates(line), color=CYCLE[index % len(CYCLE)], linewidth=1.6, label=label)
    axes.set_ylabel("sent per second, all nodes")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: size(value).replace(".0 ", " ")))
    return axes


@dataclass(frozen=True)
class Picture:
    """One picture of a run: its file, title, height in inches, and what plots it.

    `plot` adds axes to a figure and returns the topmost of them.
    """

    name: str
    title: str
    height: float
    plot: Callable[[Figure, Sequence[Sample]], Axes]


PICTURES = (
    Picture("formation", "Formation of the overlay", 4.5, plot_formation),
    Picture("impressions", "The counter, as every replica sees it", 5.5, plot_impressions),
    Picture("channels", "Traffic by channel", 4.5, plot_channels),
)


def _plot(axes: Axes, line: Sequence[Point], **style: Any) -> None:
    axes.plot([p.seconds for p in line], [p.value for p in line], **style)
