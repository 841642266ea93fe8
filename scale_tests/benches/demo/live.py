"""The live display: a table that redraws itself on a terminal, plain lines elsewhere."""

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from scale_tests.benches.demo.sample import Sample
from scale_tests.host.units import size

LINE_SECONDS = 5.0
"""The interval between plain lines where there is no terminal."""


def plain_line(sample: Sample) -> str:
    """One sample in one line."""
    status = sample.cluster
    wanted = status.replicas_wanted
    low, high = sample.values
    traffic = sum(channel.bytes_per_second for channel in status.channels)
    components = "-" if status.components is None else status.components
    return (
        f"{sample.seconds:6.1f} s  pods {sample.pods.created}/{wanted}  "
        f"ready {sample.pods.ready}/{wanted}  joined {sample.joined}/{wanted}  "
        f"components {components}  impressions {low}..{high} of {status.workload.threshold or '-'}"
        f"  converged {sample.converged}/{wanted}  {size(traffic)}/s"
    )


def table(sample: Sample) -> RenderableType:
    """One sample as the table of the terminal."""
    status = sample.cluster
    wanted = status.replicas_wanted
    low, high = sample.values
    threshold = status.workload.threshold
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="bold")
    rows.add_column(width=40)
    rows.add_column()
    for label, count, note in (
        ("created", sample.pods.created, ", ".join(sample.pods.waiting)),
        ("ready", sample.pods.ready, ""),
        ("joined", sample.joined, _overlay(sample)),
        ("converged", sample.converged, f"run {status.workload.phase.lower() or 'not started'}"),
    ):
        rows.add_row(label, _bar(count, wanted), f"{count}/{wanted}  [dim]{note}[/dim]")
    spread = f"[dim]replicas hold {low} to {high}[/dim]" if sample.nodes else ""
    rows.add_row("impressions", _bar(high, threshold), f"{high}/{threshold or '-'}  {spread}")
    parts: list[RenderableType] = [rows, Text(), _channels(sample)]
    if condition := status.degraded:
        parts += [Text(), Text(f"{condition.reason}: {condition.message}", style="bold red")]
    title = f"{status.name}  {wanted} nodes  {status.overlay}  {status.phase}"
    return Panel(
        Group(*parts), title=title, subtitle=f"{sample.seconds:.0f} s since apply", width=100
    )


class View:
    """Shows samples as they come, in a display of the terminal if there is one."""

    def __init__(self, console: Console, live: Live | None = None) -> None:
        self._console, self._live = console, live
        self._next_line = 0.0
        self._shown: Sample | None = None
        self._degraded = ""

    def show(self, sample: Sample, *, last: bool = False) -> None:
        """Shows one sample; a plain line only every `LINE_SECONDS`, and for the last one."""
        if self._live:
            self._live.update(table(sample), refresh=last)
            return
        self._show_condition(sample)
        if sample is not self._shown and (last or sample.seconds >= self._next_line):
            self._line(plain_line(sample))
            self._shown = sample
            self._next_line = sample.seconds + LINE_SECONDS

    def _show_condition(self, sample: Sample) -> None:
        """Prints an error once, and again when it changes."""
        condition = sample.cluster.degraded
        reason = condition.reason if condition else ""
        if condition and reason != self._degraded:
            self._line(f"{sample.seconds:6.1f} s  {condition.reason}: {condition.message}")
        self._degraded = reason

    def _line(self, text: str) -> None:
        self._console.print(text, soft_wrap=True, highlight=False, markup=False)


def _bar(count: int, total: int) -> ProgressBar:
    return ProgressBar(total=max(total, 1), completed=min(count, total), width=40)


def _overlay(sample: Sample) -> str:
    status = sample.cluster
    if status.components is None:
        return ""
    plural = "component" if status.components == 1 else "components"
    return f"{status.components} {plural}, mean degree {status.mean_degree:.1f}"


def _channels(sample: Sample) -> Table:
    rows = Table(box=None, padding=(0, 2), header_style="dim")
    rows.add_column("channel")
    for title in ("messages", "bytes", "dropped", "messages/s", "bytes/s"):
        rows.add_column(title, justify="right")
    for channel in sample.cluster.channels:
        rows.add_row(
            channel.name,
            f"{channel.messages:,}",
            size(channel.bytes),
            f"{channel.dropped:,}",
            f"{channel.messages_per_second:,.0f}",
            f"{size(channel.bytes_per_second)}/s",
        )
    return rows
