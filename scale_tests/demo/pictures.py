"""The pictures of a run, as SVG for pages and PNG for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from scale_tests.demo.live import size
from scale_tests.demo.samples import Point, Sample, rates, replica_values, sent_bytes

# Okabe and Ito's palette, which colour-blind readers can tell apart.
BLUE, ORANGE, GREEN, VERMILION = "#0072B2", "#E69F00", "#009E73", "#D55E00"
PURPLE, SKY, GREY = "#CC79A7", "#56B4E9", "#666666"
CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)

STYLE: Any = {
    "font.size": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "svg.hashsalt": "partisan",
    "svg.fonttype": "none",
}


def draw(samples: Sequence[Sample], directory: Path, subtitle: str) -> list[Path]:
    """Draws every picture of a run into `directory` and returns the files."""
    files = []
    for picture in PICTURES:
        with mpl.rc_context(STYLE):
            figure = Figure(figsize=(8, 4.5), layout="constrained")
            axes = figure.add_subplot()
            picture.plot(axes, samples)
            figure.suptitle(picture.title, x=0.01, ha="left", fontweight="bold")
            axes.set_title(subtitle, loc="left", fontsize=8, color=GREY)
            axes.set_xlabel("seconds since kubectl apply")
            axes.set_xlim(left=0)
            axes.set_ylim(bottom=0)
            if axes.get_legend_handles_labels()[0]:
                axes.legend(loc=picture.legend)
            for suffix in ("svg", "png"):
                file = directory / f"{picture.name}.{suffix}"
                figure.savefig(file, dpi=150, metadata={"Date": None} if suffix == "svg" else None)
                files.append(file)
    return files


def plot_formation(axes: Axes, samples: Sequence[Sample]) -> None:
    """Pods created, ready and joined, against time, until the run starts to count."""
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


def plot_impressions(axes: Axes, samples: Sequence[Sample]) -> None:
    """Every replica's count, the band between the slowest and the fastest, and the threshold."""
    lines = replica_values(samples)
    for index, line in enumerate(lines.values()):
        label = f"one of {len(lines)} replicas" if index == 0 else None
        _plot(axes, line, color=BLUE, linewidth=0.5, alpha=0.45, label=label)
    answered = [s for s in samples if s.nodes]
    axes.fill_between(
        [s.seconds for s in answered],
        [s.values[0] for s in answered],
        [s.values[1] for s in answered],
        color=SKY,
        alpha=0.35,
        linewidth=0,
        label="slowest to fastest replica",
    )
    threshold = samples[-1].cluster.workload.threshold
    if threshold:
        axes.axhline(threshold, color=VERMILION, linestyle="--", label=f"threshold {threshold}")
    axes.set_ylabel("impressions counted by a replica")


def plot_channels(axes: Axes, samples: Sequence[Sample]) -> None:
    """Bytes per second that all nodes sent on each channel; the legend has the totals."""
    for index, (channel, line) in enumerate(sorted(sent_bytes(samples).items())):
        label = f"{channel}: {size(line[-1].value)} in all"
        _plot(axes, rates(line), color=CYCLE[index % len(CYCLE)], linewidth=1.6, label=label)
    axes.set_ylabel("bytes sent per second")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: size(value)))


@dataclass(frozen=True)
class Picture:
    """One picture of a run: its file's name, its title, where its legend has room, what draws it."""

    name: str
    title: str
    legend: str
    plot: Callable[[Axes, Sequence[Sample]], None]


PICTURES = (
    Picture("formation", "Formation of the overlay", "lower right", plot_formation),
    Picture("impressions", "The counter, as every replica sees it", "upper left", plot_impressions),
    Picture("channels", "Traffic by channel", "upper left", plot_channels),
)


def _plot(axes: Axes, line: Sequence[Point], **style: Any) -> None:
    axes.plot([p.seconds for p in line], [p.value for p in line], **style)
