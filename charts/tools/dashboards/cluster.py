"""The dashboard *Cluster*: one PartisanCluster, from its overlay to the sockets."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from charts.tools.dashboards import parts
from charts.tools.dashboards.parts import (
    bars,
    buckets,
    heat,
    instant,
    lines,
    number,
    quantiles,
    query,
)

CLUSTER = 'namespace="$namespace", partisan_cluster="$cluster"'
"""Selects the series of the cluster: of its nodes, and of the operator about it."""

CHANNEL = f'{CLUSTER}, channel=~"$channel"'
WINDOW = "[$__rate_interval]"

DEGREES = (0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 250, 500, 1000)
MEBIBYTE = 1 << 20
MEMORY = tuple(n * MEBIBYTE for n in (16, 20, 24, 28, 32, 40, 48, 64, 96, 128, 256, 512, 1024))


def build() -> Dashboard:
    """The dashboard."""
    board = (
        parts.base(
            "Partisan / Cluster",
            "partisan-cluster",
            "One cluster: its overlay, its channels, its workload, its nodes.",
        )
        .with_variable(
            parts.variable(
                "namespace",
                "Namespace",
                "label_values(partisan_operator_cluster_nodes_wanted, namespace)",
            )
        )
        .with_variable(
            parts.variable(
                "cluster",
                "Cluster",
                "label_values("
                'partisan_operator_cluster_nodes_wanted{namespace="$namespace"}, partisan_cluster)',
            )
        )
        .with_variable(
            parts.variable(
                "channel",
                "Channel",
                f"label_values(partisan_channel_messages_total{{{CLUSTER}}}, channel)",
                several=True,
            )
        )
    )
    _state(board)
    _overlay(board)
    _channels(board)
    _workload(board)
    _nodes(board)
    return board


def _operator(name: str) -> str:
    """What the operator tells of the cluster."""
    return f"max(partisan_operator_cluster_{name}{{{CLUSTER}}})"


def _state(board: Dashboard) -> None:
    board.with_row(Row("State"))
    board.with_panel(
        number("Nodes wanted", "Nodes that the spec asks for.", "short", _operator("nodes_wanted"))
    ).with_panel(
        number(
            "Nodes missing",
            "Nodes wanted that are not in the overlay, by their own word.",
            "short",
            f"{_operator('nodes_wanted')} - {_operator('nodes_joined')}",
            wrong_from=1,
        )
    ).with_panel(
        number(
            "Overlay components",
            "Pieces that the overlay is in. One is what one wants; more, and nodes of one piece "
            "hear nothing from the others.",
            "short",
            _operator("overlay_components"),
            wrong_from=2,
        )
    ).with_panel(
        number(
            "Isolated nodes",
            "Nodes that have no neighbour at all.",
            "short",
            _operator("overlay_isolated_nodes"),
            wrong_from=1,
        )
    )


def _overlay(board: Dashboard) -> None:
    active = f"partisan_overlay_active_view_size{{{CLUSTER}}}"
    passive = f"partisan_overlay_passive_view_size{{{CLUSTER}}}"
    board.with_row(Row("Overlay"))
    board.with_panel(
        lines(
            "Nodes",
            "How many nodes there should be, how many pods are ready, how many nodes have joined, "
            "and how many Prometheus reaches.",
            "short",
            [
                query(_operator("nodes_wanted"), "wanted"),
                query(_operator("nodes_ready"), "ready"),
                query(_operator("nodes_joined"), "joined"),
                query(f"sum(up{{{CLUSTER}}})", "scraped"),
            ],
        )
    ).with_panel(
        lines(
            "Components and isolated nodes",
            "The overlay's graph as the operator sees it: how many pieces, how many nodes without "
            "any link.",
            "short",
            [
                query(_operator("overlay_components"), "components"),
                query(_operator("overlay_isolated_nodes"), "isolated nodes"),
            ],
        )
    ).with_panel(
        lines(
            "Overlay events",
            "What happens in the overlay: neighbours that come and go, and what its protocol "
            "counts. A steady cluster shows little but shuffles.",
            "ops",
            [
                query(
                    f"sum by (event) (rate(partisan_overlay_events_total{{{CLUSTER}}}{WINDOW}))",
                    "{{event}}",
                )
            ],
        )
    ).with_panel(
        heat(
            "Degree over time",
            "How many nodes have how many neighbours. A band that stays narrow is a healthy "
            "overlay; a tail towards zero is nodes about to fall off.",
            "short",
            buckets(active, DEGREES),
        )
    ).with_panel(
        bars(
            "Degree distribution",
            "Nodes by the number of their neighbours, at the end of the time range.",
            "short",
            instant(f'count_values("degree", {active})', "A"),
            by="degree",
        )
    ).with_panel(
        lines(
            "Passive views",
            "Peers that nodes know of beside their neighbours, and that take the place of a "
            "neighbour that fails. Overlays without passive views show zero.",
            "short",
            quantiles(passive),
        )
    )


def _channels(board: Dashboard) -> None:
    sent = f'{CHANNEL}, direction="sent"'
    board.with_row(Row("Channels"))
    board.with_panel(
        lines(
            "Messages",
            "Messages written to sockets, by channel, over all nodes.",
            "mps",
            [
                query(
                    f"sum by (channel) (rate(partisan_channel_messages_total{{{sent}}}{WINDOW}))",
                    "{{channel}}",
                )
            ],
        )
    ).with_panel(
        lines(
            "Bytes",
            "Bytes written to sockets, framing included, by channel, over all nodes.",
            "Bps",
            [
                query(
                    f"sum by (channel) (rate(partisan_channel_bytes_total{{{sent}}}{WINDOW}))",
                    "{{channel}}",
                )
            ],
        )
    ).with_panel(
        lines(
            "Bytes between nodes",
            "How unequal nodes are in what they send: a star's hub is far above its leaves.",
            "Bps",
            quantiles(f"sum by (pod) (rate(partisan_channel_bytes_total{{{sent}}}{WINDOW}))"),
        )
    ).with_panel(
        heat(
            "Time to the socket",
            "From the call to the socket, of the oldest message of each write, over all nodes and "
            "the chosen channels. What is slow here waited in a lane's queue.",
            "s",
            query(
                f"sum by (le) (rate(partisan_channel_send_seconds_bucket{{{CHANNEL}}}{WINDOW}))",
                "{{le}}",
            ).format(PromQueryFormat.HEATMAP),
        )
    ).with_panel(
        lines(
            "Time to the socket, 99 %",
            "Of a hundred writes, one takes longer than this, by channel.",
            "s",
            [
                query(
                    "histogram_quantile(0.99, sum by (channel, le) "
                    f"(rate(partisan_channel_send_seconds_bucket{{{CHANNEL}}}{WINDOW})))",
                    "{{channel}}",
                )
            ],
        )
    ).with_panel(
        lines(
            "Fullest lanes",
            "What waits on a channel of the fullest node, as a share of what one lane holds. At "
            "100 % senders are held back.",
            "percentunit",
            [
                query(
                    f"max by (channel) (partisan_channel_queue_bytes{{{CHANNEL}}} / "
                    f"partisan_lane_queue_limit_bytes{{{CHANNEL}}})",
                    "{{channel}}",
                )
            ],
        )
    ).with_panel(
        lines(
            "Messages given up",
            "By reason. `superseded` is a monotonic channel at work: a newer message took the "
            "place of one that waited. All others are losses.",
            "mps",
            [
                query(
                    "sum by (reason) "
                    f"(rate(partisan_channel_dropped_messages_total{{{CHANNEL}}}{WINDOW}))",
                    "{{reason}}",
                )
            ],
        )
    ).with_panel(
        lines(
            "Connections",
            "Outgoing connections that are up, by channel, over all nodes.",
            "short",
            [query(f"sum by (channel) (partisan_channel_connections{{{CHANNEL}}})", "{{channel}}")],
        )
    ).with_panel(
        lines(
            "Refused connections",
            "Incoming connections that did not prove to belong to the cluster, by reason.",
            "cps",
            [
                query(
                    "sum by (reason) "
                    f"(rate(partisan_refused_connections_total{{{CLUSTER}}}{WINDOW}))",
                    "{{reason}}",
                )
            ],
        )
    )


def _workload(board: Dashboard) -> None:
    board.with_row(Row("Workload"))
    board.with_panel(
        lines(
            "Counter",
            "The ad counter as its replicas see it: the one that is ahead, the one that lags.",
            "short",
            [
                query(f"max(adcounter_value{{{CLUSTER}}})", "ahead"),
                query(f"min(adcounter_value{{{CLUSTER}}})", "behind"),
            ],
        )
    ).with_panel(
        lines(
            "Convergence",
            "Share of nodes that know that all are done and whose neighbours hold what they hold.",
            "percentunit",
            [query(f"avg(adcounter_converged{{{CLUSTER}}})", "converged")],
        )
    ).with_panel(
        lines(
            "Synchronisation",
            "Payload that replicas send each other, by kind, and what all channels carry: the "
            "difference is framing and the overlay's own messages.",
            "Bps",
            [
                query(
                    "sum by (kind) (rate(lasp_sync_bytes_total"
                    f'{{{CLUSTER}, direction="sent"}}{WINDOW}))',
                    "{{kind}}",
                ),
                query(
                    "sum(rate(partisan_channel_bytes_total"
                    f'{{{CLUSTER}, direction="sent"}}{WINDOW}))',
                    "all channels",
                ),
            ],
        )
    ).with_panel(
        lines(
            "Impressions",
            "What the nodes count together.",
            "ops",
            [query(f"sum(rate(adcounter_impressions_total{{{CLUSTER}}}{WINDOW}))", "impressions")],
            width=parts.HALF,
        )
    ).with_panel(
        lines(
            "Broadcasts",
            "Messages of the broadcast tree by kind: gossip carries payload, the others keep the "
            "tree.",
            "mps",
            [
                query(
                    f"sum by (kind) (rate(partisan_broadcast_messages_total{{{CLUSTER}}}{WINDOW}))",
                    "{{kind}}",
                )
            ],
            width=parts.HALF,
        )
    )


def _nodes(board: Dashboard) -> None:
    resident = f'erlang_vm_memory_bytes{{{CLUSTER}, kind="resident"}}'
    board.with_row(Row("Nodes"))
    board.with_panel(
        heat(
            "Memory",
            "How many nodes take how much memory: resident, as the kernel counts it.",
            "bytes",
            buckets(resident, MEMORY),
        )
    ).with_panel(
        lines(
            "CPU",
            "CPU time that nodes take, in cores.",
            "short",
            quantiles(f"rate(process_cpu_seconds_total{{{CLUSTER}}}{WINDOW})"),
        )
    ).with_panel(
        lines(
            "Run queue",
            "Erlang processes that are ready and wait for a scheduler. More than a few for long, "
            "and the nodes lack CPU.",
            "short",
            quantiles(f"erlang_vm_run_queue{{{CLUSTER}}}"),
        )
    )
