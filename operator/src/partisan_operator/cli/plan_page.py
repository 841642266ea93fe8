"""A prediction as a table for the terminal, a page of Markdown, and a picture."""

from collections.abc import Iterator
from html import escape

from partisan_operator.cli.text import size, table
from partisan_operator.predict import Prediction

PICTURE = "plan.svg"

_BLUE, _GREY = "#0072B2", "#666666"
_WIDTH, _LINE, _LEFT, _BAR = 720, 26, 150, 430


def title(name: str, prediction: Prediction) -> str:
    """Return the title of the figures."""
    mode = f", {prediction.synchronization}" if prediction.synchronization else ", no workload"
    return f"{name}: {prediction.nodes:,} nodes, {prediction.overlay}{mode} (simulated)"


def text(name: str, prediction: Prediction) -> str:
    """Return the prediction as text for a terminal."""
    rows = [[what, value, remark] for what, value, remark in _rows(prediction)]
    traffic = [["CHANNEL", "MESSAGES", "BYTES", "BYTES A NODE"], *_traffic(prediction)]
    return "\n".join(
        [
            title(name, prediction),
            "",
            table(rows),
            "",
            table(traffic, numbers=3),
            "",
            *assumptions(prediction),
        ]
    )


def markdown(name: str, prediction: Prediction) -> str:
    """Return the prediction as a page that includes the picture."""
    lines = [f"# {title(name, prediction)}", "", f"![What is sent]({PICTURE})", ""]
    lines += ["| figure | simulated | |", "|---|---|---|"]
    lines += [f"| {what} | {value} | {remark} |" for what, value, remark in _rows(prediction)]
    lines += ["", "| channel | messages | bytes | bytes a node |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(row)} |" for row in _traffic(prediction)]
    return "\n".join([*lines, "", *(f"* {line}" for line in assumptions(prediction)), ""])


def svg(name: str, prediction: Prediction) -> str:
    """Return a picture of the traffic by channel, as an SVG document."""
    volumes = [("payload", prediction.bytes_payload)]
    volumes += [(f"{name} frames", channel.bytes) for name, channel in prediction.channels.items()]
    longest = max(value for _, value in volumes) or 1.0
    height = 60 + _LINE * len(volumes)
    heading = escape(title(name, prediction))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}"'
        ' font-family="sans-serif" font-size="13">',
        f"<title>{heading}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
        f'<text x="12" y="24" font-size="15">{heading}</text>',
    ]
    for index, (label, value) in enumerate(volumes):
        top = 44 + _LINE * index
        width = max(1.0, _BAR * value / longest)
        # Hollow and dashed, as every simulated figure of this project is drawn.
        lines += [
            f'<text x="{_LEFT - 8}" y="{top + 14}" text-anchor="end">{escape(label)}</text>',
            f'<rect x="{_LEFT}" y="{top}" width="{width:.1f}" height="18" fill="none"'
            f' stroke="{_BLUE}" stroke-dasharray="4 2"/>',
            f'<text x="{_LEFT + width + 8:.1f}" y="{top + 14}" fill="{_GREY}">{size(value)}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


def assumptions(prediction: Prediction) -> list[str]:
    """Return the assumptions of the figures, in sentences."""
    assumed = prediction.assumptions
    least, most = assumed.latency_ms
    sizes = " and ".join(f"{nodes:,}" for nodes in prediction.simulated_nodes)
    lines = [
        f"Simulated in virtual time with the nodes' own protocol modules, seed {assumed.seed}:"
        f" latency {least} to {most} ms one way, {assumed.pods_per_second:g} pods a second,"
        f" {assumed.zones} zone{'' if assumed.zones == 1 else 's'}; no limits of bandwidth and"
        " processors, no failures.",
        "Sums are over all nodes, from the first start until "
        + (
            "the run has converged."
            if prediction.counting_seconds is not None
            else "a minute after the overlay is whole."
        ),
        "Memory is modelled from measurements, not simulated.",
    ]
    if prediction.simulated_share < 1:
        lines.append(
            f"{prediction.simulated_share:.1%} of the run was simulated; the rest is assumed to be"
            " like the second half of that."
        )
    if prediction.extrapolated:
        lines.append(
            f"Extrapolated: the runs that were simulated are of {sizes} nodes. The overlay was"
            " simulated at its size."
        )
    return lines


def _rows(prediction: Prediction) -> Iterator[tuple[str, str, str]]:
    yield (
        "Join",
        f"{prediction.join_seconds_median:.2f} s",
        f"from a node's start, the median; {prediction.join_seconds_most:.2f} s at most",
    )
    yield (
        "Whole",
        f"{prediction.whole_seconds:.2f} s",
        "from the last node's start to one component",
    )
    yield (
        "Degree",
        f"{prediction.degree_mean:.1f}",
        f"the mean; {prediction.degree_least} to {prediction.degree_most}",
    )
    if prediction.seconds_running is not None:
        yield (
            "Run",
            f"{prediction.seconds_running:.1f} s",
            f"until it has converged: {prediction.counting_seconds:.1f} s of counting and"
            f" {prediction.seconds_to_converge:.1f} s",
        )
        yield "Overcounting", f"{prediction.overcounting_percent:.2f} %", ""
    yield (
        "Payload",
        size(prediction.bytes_payload),
        f"{size(prediction.forming_bytes_payload)} of it before the run starts",
    )
    yield (
        "Frames",
        size(prediction.bytes_frames),
        f"{size(prediction.forming_bytes_frames)} of it before the run starts",
    )
    yield (
        "At rest",
        f"{size(prediction.overlay_bytes_per_second / prediction.nodes)}/s",
        "a node, for the overlay alone",
    )
    yield "Memory", size(prediction.memory_bytes_per_node), "a node (modelled)"


def _traffic(prediction: Prediction) -> list[list[str]]:
    return [
        [
            name,
            f"{channel.messages:,.0f}",
            size(channel.bytes),
            size(channel.bytes / prediction.nodes),
        ]
        for name, channel in prediction.channels.items()
    ]
