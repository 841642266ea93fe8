"""The dashboard *Scalability*: what clusters cost against their size, overlays side by side.

Every cluster of the time range counts, so that one run can be laid beside another. A cluster whose
overlay was switched within that time shows under both.
"""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row

from charts.tools.dashboards import parts
from charts.tools.dashboards.parts import against, instant, lines, query, rows

CLUSTERS = 'namespace=~"$namespace", partisan_cluster=~"$cluster"'
BY = "(namespace, partisan_cluster)"
WINDOW = "[$__rate_interval]"

NODES = (
    f"max by {BY} (max_over_time(partisan_operator_cluster_nodes_joined{{{CLUSTERS}}}[$__range]))"
)
OVERLAY = (
    "max by (namespace, partisan_cluster, overlay) "
    f"(last_over_time(partisan_operator_cluster_overlay_info{{{CLUSTERS}}}[$__range]))"
)
"""1 for each cluster and overlay that it ran in the time range."""

FORMATION = (
    f"max by {BY} "
    f"(last_over_time(partisan_operator_cluster_formation_seconds{{{CLUSTERS}}}[$__range]))"
)
CONVERGENCE = (
    f"max by {BY} "
    f"(last_over_time(partisan_operator_cluster_convergence_seconds{{{CLUSTERS}}}[$__range]))"
)
SENT = (
    f"sum by {BY} "
    f'(increase(partisan_channel_bytes_total{{{CLUSTERS}, direction="sent"}}[$__range])) / {NODES}'
)
MEMORY = (
    f'avg by {BY} (max_over_time(erlang_vm_memory_bytes{{{CLUSTERS}, kind="resident"}}[$__range]))'
)
CPU = f"sum by {BY} (increase(process_cpu_seconds_total{{{CLUSTERS}}}[$__range])) / {NODES}"


def build() -> Dashboard:
    """The dashboard."""
    board = (
        parts.base(
            "Partisan / Scalability",
            "partisan-scalability",
            "What clusters cost against their size; overlays and runs side by side.",
        )
        .with_variable(
            parts.variable(
                "namespace",
                "Namespace",
                "label_values(partisan_operator_cluster_nodes_wanted, namespace)",
                several=True,
            )
        )
        .with_variable(
            parts.variable(
                "cluster",
                "Cluster",
                "label_values(partisan_operator_cluster_nodes_wanted"
                '{namespace=~"$namespace"}, partisan_cluster)',
                several=True,
            )
        )
    )
    _against_size(board)
    _over_time(board)
    _by_overlay(board)
    return board


def with_overlay(vector: str) -> str:
    """A value of clusters, with the label `overlay` of each."""
    return f"{OVERLAY} * on {BY} group_left () ({vector})"


def _against_size(board: Dashboard) -> None:
    board.with_row(Row("Against the size of the cluster"))
    board.with_panel(
        rows(
            "Clusters",
            "Every cluster of the time range. Bytes, memory and CPU time are means over its nodes: "
            "what a node costs.",
            [
                ("Nodes", "short", instant(with_overlay(NODES), "nodes")),
                ("Formation", "s", instant(with_overlay(FORMATION), "formation")),
                ("Convergence", "s", instant(with_overlay(CONVERGENCE), "convergence")),
                ("Bytes sent per node", "bytes", instant(with_overlay(SENT), "sent")),
                ("Memory per node", "bytes", instant(with_overlay(MEMORY), "memory")),
                ("CPU time per node", "s", instant(with_overlay(CPU), "cpu")),
            ],
        )
    )
    for title, description, unit, vector, name in (
        (
            "Formation time",
            "From the spec to all nodes joined in one overlay, against the number of nodes. A "
            "scalable overlay bends little.",
            "s",
            FORMATION,
            "formation",
        ),
        (
            "Convergence time",
            "From the start of the run to the same counter on every node, against the number of "
            "nodes.",
            "s",
            CONVERGENCE,
            "convergence",
        ),
        (
            "Bytes sent per node",
            "What each node has sent in the time range, against the number of nodes: constant is "
            "what scales, proportional is full state.",
            "bytes",
            SENT,
            "sent",
        ),
        (
            "Memory per node",
            "The most resident memory, mean over the nodes, against their number.",
            "bytes",
            MEMORY,
            "memory",
        ),
        (
            "CPU time per node",
            "CPU time in the time range, mean over the nodes, against their number.",
            "s",
            CPU,
            "cpu",
        ),
    ):
        board.with_panel(
            against(
                title,
                description,
                unit,
                instant(with_overlay(NODES), "nodes"),
                instant(with_overlay(vector), name),
            )
        )


def _over_time(board: Dashboard) -> None:
    per_cluster = "{{namespace}}/{{partisan_cluster}}"
    count = f"sum by {BY} (up{{{CLUSTERS}}})"
    board.with_row(Row("Over time, one line for each cluster"))
    board.with_panel(
        lines(
            "Nodes",
            "Nodes in the overlay.",
            "short",
            [
                query(
                    f"max by {BY} (partisan_operator_cluster_nodes_joined{{{CLUSTERS}}})",
                    per_cluster,
                )
            ],
        )
    ).with_panel(
        lines(
            "Bytes per node",
            "Bytes that a node sends, mean over the nodes of each cluster.",
            "Bps",
            [
                query(
                    f"sum by {BY} (rate(partisan_channel_bytes_total"
                    f'{{{CLUSTERS}, direction="sent"}}{WINDOW})) / {count}',
                    per_cluster,
                )
            ],
        )
    ).with_panel(
        lines(
            "Messages per node",
            "Messages that a node sends, mean over the nodes of each cluster.",
            "mps",
            [
                query(
                    f"sum by {BY} (rate(partisan_channel_messages_total"
                    f'{{{CLUSTERS}, direction="sent"}}{WINDOW})) / {count}',
                    per_cluster,
                )
            ],
        )
    )


def _by_overlay(board: Dashboard) -> None:
    info = (
        "max by (namespace, partisan_cluster, overlay) "
        f"(partisan_operator_cluster_overlay_info{{{CLUSTERS}}})"
    )
    board.with_row(Row("Over time, one line for each overlay"))
    for title, description, unit, vector in (
        (
            "Degree",
            "Neighbours of a node, mean over all nodes that run the overlay.",
            "short",
            f"avg by {BY} (partisan_overlay_active_view_size{{{CLUSTERS}}})",
        ),
        (
            "Memory per node",
            "Resident memory of a node, mean over all nodes that run the overlay.",
            "bytes",
            f'avg by {BY} (erlang_vm_memory_bytes{{{CLUSTERS}, kind="resident"}})',
        ),
        (
            "CPU per node",
            "CPU time that a node takes, in cores, mean over all nodes that run the overlay.",
            "short",
            f"avg by {BY} (rate(process_cpu_seconds_total{{{CLUSTERS}}}{WINDOW}))",
        ),
    ):
        board.with_panel(
            lines(
                title,
                description,
                unit,
                [
                    query(
                        f"avg by (overlay) ({info} * on {BY} group_left () ({vector}))",
                        "{{overlay}}",
                    )
                ],
            )
        )
