"""The pictures of a recording: the time line of everything, and how long each fault took."""

from collections.abc import Callable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scale_tests.benches.churn.result import Outcome, Recording
from scale_tests.benches.churn.timeline import Phase, phase_at, sent
from scale_tests.cluster.sampler import slopes
from scale_tests.measure.drawing import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    curve,
    described,
)

RATE_SECONDS = 5.0
"""The window over which traffic is taken, which smooths it."""

SHADES = {"kill": VERMILION, "churn": ORANGE, "partition": PURPLE}
"""The colour behind the time of each kind of fault."""

Series = Sequence[tuple[str, str, Callable[[Outcome], float | None]]]
"""Name, colour and figure of each series; a series has a value for each fault."""


def plot_timeline(figure: Figure, recording: Recording) -> None:
    """Reachability, counts and traffic, one above the other, on one axis of time."""
    reach, counts, traffic = figure.subplots(3, sharex=True, height_ratios=(3, 3, 2))
    _plot_reach(reach, recording)
    _plot_counts(counts, recording)
    nodes = recording.samples[-1].cluster.replicas_wanted
    frames = [(t, total["frames"]) for t, total in sent(recording.samples)]
    each = ((t, rate / nodes / 1024) for t, rate in slopes(frames, RATE_SECONDS))
    curve(traffic, each, color=BLUE, linewidth=1)
    traffic.set(ylabel="KiB/s sent\nper node", xlabel="seconds since the apply")
    traffic.set_ylim(bottom=0)
    for axes in (reach, counts, traffic):
        _shade(axes, recording.phases, named=axes is reach)
    counts.legend(loc="upper left", fontsize=8)
    reach.legend(loc="lower right", fontsize=8)


def _plot_reach(axes: Axes, recording: Recording) -> None:
    wanted = recording.samples[-1].cluster.replicas_wanted
    seconds = [s.seconds for s in recording.samples]
    joined = [100 * sample.joined / wanted for sample in recording.samples]
    axes.plot(seconds, joined, color=SKY, label="joined, of all nodes")
    reached = (
        (s.seconds, 100 * reach)
        for s in recording.samples
        if (phase := phase_at(recording.phases, s.seconds)) is not None
        and (reach := phase.reach(s)) is not None
    )
    curve(axes, reached, color=BLUE, label="in the largest component, of the survivors")
    axes.set(ylabel="%", ylim=(0, 104))


def _plot_counts(axes: Axes, recording: Recording) -> None:
    seconds = [s.seconds for s in recording.samples]
    made = [s.cluster.workload.increments_sum for s in recording.samples]
    axes.plot(seconds, made, color=VERMILION, label="increments made")
    # A node that has just come back holds nothing for a moment; it joins in with its first message.
    holding = [(s.seconds, [n.value for n in s.nodes if n.value]) for s in recording.samples]
    for which, extreme, style in (("first", max, "-"), ("last", min, "--")):
        points = ((t, extreme(values)) for t, values in holding if values)
        label = f"counted, the {which} replica"
        curve(axes, points, color=GREEN, linestyle=style, linewidth=1, label=label)
    lost = [s.cluster.workload.lost_increments for s in recording.samples]
    axes.plot(seconds, lost, color=GREY, linestyle=":", label=f"lost with killed nodes: {lost[-1]}")
    axes.set_ylabel("increments")
    axes.set_ylim(bottom=0)


def _shade(axes: Axes, phases: Sequence[Phase], *, named: bool) -> None:
    """Each fault as a band from its beginning until one component."""
    for index, phase in enumerate(p for p in phases if p.kind != "calm"):
        end = phase.whole_at or phase.until or phase.at
        axes.axvspan(phase.at, end, color=SHADES[phase.kind], alpha=0.15, linewidth=0)
        if named:
            # Kills follow one another closely: each name a line higher than the one before.
            axes.annotate(
                phase.name,
                xy=(phase.at, 1),
                xycoords=("data", "axes fraction"),
                xytext=(0, 2 + 10 * (index % 3)),
                textcoords="offset points",
                fontsize=8,
                color=SHADES[phase.kind],
            )


def plot_recovery(figure: Figure, recording: Recording) -> None:
    """Seconds from the end of each fault until survivors, all nodes and the counter are well."""
    faults = [o for o in recording.outcomes if o.kind != "calm"]
    figures: Series = (
        ("the survivors one component", SKY, lambda o: o.survivors_connected),
        ("all nodes back, one component", BLUE, lambda o: o.one_component),
        ("all that was counted in every replica", GREEN, lambda o: o.accounted),
    )
    _plot_bars(figure, faults, figures, "seconds after the end of the fault", "{:.1f}")


def plot_traffic(figure: Figure, recording: Recording) -> None:
    """Bytes per second and node during each fault, until all were one component again."""
    figures: Series = (
        ("frames, on all channels", BLUE, lambda o: o.bytes_per_second_and_node),
        ("of which counters", GREEN, lambda o: o.payload_per_second_and_node),
    )
    _plot_bars(figure, recording.outcomes, figures, "bytes per second and node", "{:,.0f}")


def _plot_bars(
    figure: Figure, outcomes: Sequence[Outcome], series: Series, label: str, form: str
) -> None:
    """A bar chart: one bar per fault and series, with its figure."""
    axes, width = figure.subplots(), 0.8 / len(series)
    for row, (name, colour, of) in enumerate(series):
        places = [index + width * (row - (len(series) - 1) / 2) for index in range(len(outcomes))]
        values = [of(outcome) or 0.0 for outcome in outcomes]
        drawn = axes.bar(places, values, 0.94 * width, color=colour, label=name)
        axes.bar_label(drawn, [form.format(value) for value in values], fontsize=8)
    axes.set_xticks(range(len(outcomes)), [outcome.name for outcome in outcomes])
    axes.set_ylabel(label)
    axes.grid(axis="x", visible=False)
    axes.legend(fontsize=9)


PICTURES = described(__file__, plot_timeline, plot_recovery, plot_traffic)
