"""The dashboard *Operator*: whether it keeps up, and what it costs the API server."""

from __future__ import annotations

from grafana_foundation_sdk.builders.dashboard import Dashboard, Row
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from charts.tools.dashboards import parts
from charts.tools.dashboards.parts import heat, lines, number, query

WINDOW = "[$__rate_interval]"
CLUSTERS = 'namespace=~"$namespace"'
PREFIX = "partisan_operator_"


def build() -> Dashboard:
    """The dashboard."""
    board = parts.base(
        "Partisan / Operator",
        "partisan-operator",
        "The operator: whether it keeps up, and what it costs the API server.",
    ).with_variable(
        parts.variable(
            "namespace",
            "Namespace of clusters",
            f"label_values({PREFIX}cluster_nodes_wanted, namespace)",
            several=True,
        )
    )
    _state(board)
    _looks(board)
    _costs(board)
    return board


def quantile(share: float, histogram: str, by: str = "") -> str:
    """A quantile of one of the operator's histograms, whose name is without prefix."""
    labels = f"{by}, le" if by else "le"
    return (
        f"histogram_quantile({share:g}, "
        f"sum by ({labels}) (rate({PREFIX}{histogram}_bucket{WINDOW})))"
    )


def _state(board: Dashboard) -> None:
    board.with_row(Row("State"))
    board.with_panel(
        number(
            "Clusters",
            "PartisanClusters that the operator looks after, in all namespaces.",
            "short",
            f"sum({PREFIX}clusters)",
        )
    ).with_panel(
        number(
            "Nodes",
            "Nodes that the clusters ask for.",
            "short",
            f"sum({PREFIX}cluster_nodes_wanted{{{CLUSTERS}}})",
        )
    ).with_panel(
        number(
            "Clusters in pieces",
            "Clusters whose overlay is in more than one piece.",
            "short",
            f"sum({PREFIX}cluster_overlay_components{{{CLUSTERS}}} > bool 1)",
            wrong_from=1,
        )
    ).with_panel(
        number(
            "Longest without a look",
            "How long ago the operator looked at the cluster that has waited longest.",
            "s",
            f"max(time() - {PREFIX}cluster_observed_timestamp_seconds{{{CLUSTERS}}})",
            wrong_from=300,
        )
    )


def _looks(board: Dashboard) -> None:
    board.with_row(Row("Looks at clusters"))
    board.with_panel(
        lines(
            "Looks",
            "Looks at clusters: outcome `error` is the API server's doing, `bug` the operator's.",
            "ops",
            [
                query(
                    f"sum by (outcome) (rate({PREFIX}reconcile_seconds_count{WINDOW}))",
                    "{{outcome}}",
                )
            ],
        )
    ).with_panel(
        heat(
            "Time of a look",
            "From reading a cluster to its status written.",
            "s",
            query(f"sum by (le) (rate({PREFIX}reconcile_seconds_bucket{WINDOW}))", "{{le}}").format(
                PromQueryFormat.HEATMAP
            ),
        )
    ).with_panel(
        lines(
            "Time to ask the nodes",
            "All nodes of one cluster: a part of each look.",
            "s",
            [
                query(quantile(0.5, "scrape_seconds"), "median"),
                query(quantile(0.99, "scrape_seconds"), "99 %"),
            ],
        )
    ).with_panel(
        lines(
            "Nodes that did not answer",
            "Nodes that gave no usable answer when asked. Some while pods come and go are normal.",
            "ops",
            [query(f"sum(rate({PREFIX}scrape_failures_total{WINDOW}))", "nodes")],
        )
    ).with_panel(
        lines(
            "From a spec to its nodes",
            "Seconds from a spec to all pods ready, and to all nodes in one overlay: the slowest "
            "tenth of what happened in the time range.",
            "s",
            [
                query(
                    "histogram_quantile(0.9, sum by (le) "
                    f"(increase({PREFIX}apply_to_{what}_seconds_bucket[$__range])))",
                    what,
                )
                for what in ("ready", "joined")
            ],
        )
    ).with_panel(
        lines(
            "Nodes missing",
            "Nodes that clusters ask for and that are not in their overlay, over all clusters.",
            "short",
            [
                query(
                    f"sum({PREFIX}cluster_nodes_wanted{{{CLUSTERS}}} - "
                    f"{PREFIX}cluster_nodes_joined{{{CLUSTERS}}})",
                    "missing",
                )
            ],
        )
    )


def _costs(board: Dashboard) -> None:
    board.with_row(Row("Costs"))
    calls = f"{PREFIX}api_calls_total{WINDOW}"
    board.with_panel(
        lines(
            "Requests to the API server by verb",
            "Watches left out. A settled cluster costs a few a minute.",
            "reqps",
            [query(f"sum by (verb) (rate({calls}))", "{{verb}}")],
            width=parts.HALF,
        )
    ).with_panel(
        lines(
            "Requests to the API server by kind",
            "What the operator reads and writes. Secrets and Events are rare, or something is odd.",
            "reqps",
            [query(f"sum by (kind) (rate({calls}))", "{{kind}}")],
            width=parts.HALF,
        )
    ).with_panel(
        lines(
            "Answers of the API server",
            "By status: 409 is a conflict that is tried again, 403 a right that is missing, 429 "
            "an API server that is busy.",
            "reqps",
            [query(f"sum by (code) (rate({calls}))", "{{code}}")],
            width=parts.HALF,
        )
    ).with_panel(
        lines(
            "Lag of the event loop",
            "By how much a sleeping task woke late: the time in which the operator heard nothing.",
            "s",
            [
                query(quantile(0.5, "event_loop_lag_seconds"), "median"),
                query(quantile(0.99, "event_loop_lag_seconds"), "99 %"),
            ],
            width=parts.HALF,
        )
    ).with_panel(
        lines(
            "Wait for a turn",
            "Time from when a cluster was due to be reconciled until its turn came: a few are at "
            "a time.",
            "s",
            [
                query(quantile(0.5, "queue_seconds"), "median"),
                query(quantile(0.99, "queue_seconds"), "99 %"),
            ],
            width=parts.HALF,
        )
    )
