"""`report NAME`: the run result as a page of Markdown with a picture of the overlay."""

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from partisan_operator.cli import access
from partisan_operator.cli.access import CommandError, Context, Scrape
from partisan_operator.cli.commands.graph import draw, no_answer, summary, write_file
from partisan_operator.cli.kubectl import Json
from partisan_operator.cli.text import size
from partisan_operator.models import PartisanCluster
from partisan_operator.models.clock import seconds_between, to_wire
from partisan_operator.models.workload import AD_COUNTER

PAGE, PICTURE = "report.md", "overlay.svg"


def run(context: Context, arguments: Namespace) -> int:
    """Write the page and the picture into a directory."""
    cluster = access.cluster_of(context, arguments.name)
    found = access.scrape(context, access.pods_of(context, cluster.name))
    if not found.seen:
        raise CommandError(no_answer(cluster.name, found))
    directory: Path = arguments.directory or Path(f"{cluster.name}-report")
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CommandError(f"cannot make {directory}: {error.strerror}") from None
    events = access.events_of(context, cluster.name)
    write_file(directory / PICTURE, draw(cluster.name, found, "svg"))
    write_file(directory / PAGE, page(context, cluster, found, events))
    context.write(f"{directory / PAGE}\n{directory / PICTURE}")
    return 0


def page(context: Context, cluster: PartisanCluster, found: Scrape, events: Sequence[Json]) -> str:
    """Return the Markdown page."""
    status = cluster.status
    versions = sorted({f"{node.version} on OTP {node.otp}" for node in found.details.values()})
    sections = [
        [f"# Cluster `{cluster.name}` in `{cluster.namespace}`, {to_wire(context.now())}"],
        [f"{status.phase}. Nodes run partisan {', '.join(versions)}. Overlay: {summary(found)}."],
        [f"![The overlay]({PICTURE})"],
        ["## Milestones", "", *_milestones(cluster)],
        ["## Run", "", *_run(cluster)],
        ["## Traffic by channel, all nodes", "", *_channels(cluster)],
        ["## Conditions", "", *_conditions(cluster)],
        ["## Spec", "", "```yaml", *_yaml(cluster.spec.to_wire()), "```"],
        ["## Events", "", *([f"- {access.event_line(event)}" for event in events] or ["None."])],
    ]
    return "\n\n".join("\n".join(section) for section in sections) + "\n"


def _rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return [
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    ]


def _milestones(cluster: PartisanCluster) -> list[str]:
    """Return when the present spec was applied, and the milestones before and since."""
    timings = cluster.status.timings
    milestones = {
        "applied": timings.applied_at,
        "all ready": timings.ready_at,
        "all joined": timings.joined_at,
        "run started": timings.started_at,
        "run converged": timings.converged_at,
    }
    rows = []
    for name, time in milestones.items():
        seconds = seconds_between(timings.applied_at, time)
        if time is not None and seconds is not None:
            # A run continues over a change of the overlay, which is a new spec.
            rows.append((name, time, f"{seconds:.1f} s" if seconds >= 0 else "before"))
    return _rows(("milestone", "at", "since applied"), rows)


def _run(cluster: PartisanCluster) -> list[str]:
    run = cluster.status.workload
    if run is None:
        return ["No workload."]
    if run.module != AD_COUNTER:
        return _rows(
            ("figure", "value"),
            [
                ("run", f"{run.run}, {run.phase}"),
                ("module", run.module),
                ("value", f"{run.value:,} (threshold {run.threshold:,})"),
            ],
        )
    over = "-" if run.overcounting_percent is None else f"{run.overcounting_percent:.2f} %"
    return _rows(
        ("figure", "value"),
        [
            ("run", f"{run.run}, {run.phase}"),
            ("impressions", f"{run.value:,} (threshold {run.threshold:,})"),
            ("overcounting", over),
            ("increments made by the nodes", f"{run.increments_sum:,}"),
            ("increments lost", f"{run.lost_increments:,}"),
            ("nodes replaced", f"{run.replaced_nodes:,}"),
            ("CRDT payload sent", size(run.bytes)),
        ],
    )


def _channels(cluster: PartisanCluster) -> list[str]:
    if not cluster.status.channels:
        return ["Not observed yet."]
    rows = [
        (entry.name, f"{entry.messages:,}", size(entry.bytes), f"{entry.dropped:,}")
        for entry in cluster.status.channels
    ]
    observed = f"As of {cluster.status.observed_at}."
    return [*_rows(("channel", "messages", "bytes", "dropped"), rows), "", observed]


def _conditions(cluster: PartisanCluster) -> list[str]:
    rows = [
        (entry.type.value, entry.status, entry.reason, entry.message)
        for entry in cluster.status.conditions
    ]
    return _rows(("condition", "status", "reason", "message"), rows)


def _yaml(spec: Json) -> list[str]:
    return access.yaml_text(spec).splitlines()
