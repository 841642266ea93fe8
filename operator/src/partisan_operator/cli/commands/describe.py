"""`describe node NODE`: one node, as reported by Kubernetes and by itself."""

from argparse import Namespace

from partisan_operator.children import naming
from partisan_operator.cli import access
from partisan_operator.cli.access import Context, NodeDetails
from partisan_operator.cli.kubectl import Json, KubectlError, core
from partisan_operator.cli.text import duration, since, size, table
from partisan_operator.observe.pod_failures import failure_of

EVENTS = 10
"""Most events that are shown."""


def run_node(context: Context, arguments: Namespace) -> int:
    """Write a node's pod, its report and its events."""
    node: str = arguments.node
    pod = access.pod_of(context, node)
    context.write(table(_pod_rows(context, pod)))
    try:
        details = access.details_of(context, pod)
    except KubectlError as error:
        context.write(f"\nThe node does not answer: {error}")
    else:
        context.write("\n" + table(_node_rows(details)))
        context.write("\n" + channels(details))
    field = f"involvedObject.kind=Pod,involvedObject.name={node}"
    events = context.api.get(core(context.namespace, "events"), fieldSelector=field)["items"]
    last = sorted(events, key=access.event_time)[-EVENTS:]
    context.write("\nEvents" + (":" if last else ": none"))
    for event in last:
        context.write(f"  {access.event_line(event)}")
    return 0


def channels(details: NodeDetails) -> str:
    """Return the node's traffic since it started."""
    header = ("CHANNEL", "SENT", "", "RECEIVED", "", "QUEUED", "DROPPED")
    rows = [
        (
            name,
            f"{channel.sent_messages:,}",
            size(channel.sent_bytes),
            f"{channel.received_messages:,}",
            size(channel.received_bytes),
            size(channel.queue_bytes),
            f"{channel.dropped:,}",
        )
        for name, channel in sorted(details.channels.items())
    ]
    return table([header, *rows], numbers=len(header) - 1)


def _pod_rows(context: Context, pod: Json) -> list[tuple[str, str]]:
    metadata, status = pod["metadata"], pod.get("status") or {}
    containers = status.get("containerStatuses") or ()
    failure = failure_of(pod)
    return [
        ("Node", f"{metadata['name']} of {metadata['labels'][naming.CLUSTER_LABEL]}"),
        ("Pod", f"{status.get('phase', 'Unknown')}, {status.get('podIP', 'no address')}"),
        ("Runs on", pod["spec"].get("nodeName", "none yet")),
        ("Zone", metadata["labels"].get("topology.kubernetes.io/zone", "none")),
        ("Image", pod["spec"]["containers"][0]["image"]),
        ("Age", since(metadata.get("creationTimestamp"), context.now())),
        ("Restarts", str(sum(entry.get("restartCount", 0) for entry in containers))),
        ("Problem", f"{failure.reason}: {failure.detail}" if failure else "none"),
    ]


def _node_rows(details: NodeDetails) -> list[tuple[str, str]]:
    overlay, run = details.overlay, details.workload
    previous = f" next to {overlay.former}" if overlay.former else ""
    rows = [
        ("Version", f"{details.version} on OTP {details.otp}"),
        ("Up", f"{duration(details.uptime_seconds)}, incarnation {details.incarnation}"),
        ("Memory", f"{size(details.memory_bytes)} of the Erlang VM"),
        ("Revision", details.revision or "none"),
        ("Overlay", f"{overlay.kind}{previous}, {'joined' if overlay.joined else 'NOT joined'}"),
        ("Active", " ".join(sorted(overlay.active, key=access.ordinal)) or "none"),
        ("Passive", " ".join(sorted(overlay.passive, key=access.ordinal)) or "none"),
    ]
    if run is not None:
        rows.append(
            (
                "Run",
                f"{run.run} {run.phase}: counts {run.value:,} of {run.threshold:,},"
                f" {run.increments:,} of its own",
            )
        )
    return rows
