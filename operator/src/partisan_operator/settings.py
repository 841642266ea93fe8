"""The settings, from environment variables `PARTISAN_OPERATOR_*`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from partisan_operator import __version__
from partisan_operator.decide.installation import Installation
from partisan_operator.models.pods import ALLOWED_ANNOTATIONS
from partisan_operator.models.quantities import milliseconds

PREFIX = "PARTISAN_OPERATOR_"
_MOST_PORT = 65_535


class SettingsError(ValueError):
    """An invalid variable; the text names it and the valid values."""


@dataclass(frozen=True)
class Settings:
    """The operator's settings. Times are in seconds."""

    node_image: str = f"partisan/erlang-node:{__version__}"
    """`NODE_IMAGE`: the image of clusters whose `spec.image` is empty. A change rolls them,
    a few at a time."""

    namespaces: tuple[str, ...] = ()
    """`WATCH_NAMESPACES`: comma-separated; empty means all, which needs a ClusterRole."""

    max_rolling_clusters: int = 1
    """`MAX_ROLLING_CLUSTERS`: clusters that roll to a new default image at a time; 0: all of them,
    and none that is degraded halts the others."""

    lease_namespace: str = "kube-system"
    """`LEASE_NAMESPACE`: namespace of the Lease that the operator of all namespaces holds while it
    acts. Operators with different ones share the namespaces out: each has what it claimed first.
    Unused with `WATCH_NAMESPACES`: each of these has its own Lease."""

    idle_period: float = 10.0
    """`INTERVAL`: time between two reconciles of a settled cluster, a duration such as `10s`.
    Changes of nodes that do not change their StatefulSet are detected after that time."""

    active_period: float = 1.0
    """`ACTIVE_INTERVAL`: the same for a cluster that forms, rolls or runs its workload. Shorter
    starts the run sooner after the last node joined, and scrapes more."""

    resync_period: float = 60.0
    """`RESYNC_INTERVAL`: time between two observations of children of all kinds: the delay of a
    change that a watch missed, and of a changed Secret, since Secrets are not watched. Otherwise
    children are observed when one of them changes; StatefulSets and the pods' addresses also in
    every reconcile of a cluster that is not settled."""

    scrape_timeout: float = 2.0
    """`SCRAPE_TIMEOUT`: timeout of one node's answer. Longer, and a node that hangs delays the
    observation of the others; shorter, and nodes on a busy Kubernetes node appear to hang."""

    scrape_concurrency: int = 64
    """`SCRAPE_CONCURRENCY`: requests to nodes at a time, over all clusters. Reports of one cluster
    take half of them at most."""

    nodes_monitored: bool = False
    """`NODES_MONITORED`: true where the installation has a PodMonitor for the nodes of all
    clusters. Clusters with `Auto` then get none of their own, which would scrape their nodes
    twice."""

    allowed_pod_annotations: tuple[str, ...] = ALLOWED_ANNOTATIONS
    """`ALLOWED_POD_ANNOTATIONS`: comma-separated keys of annotations that clusters may give their
    pods: exact, `DOMAIN/*`, or `*` for all. A cluster with another one is not reconciled."""

    metrics_port: int = 9090
    """`METRICS_PORT`: port of /metrics and /healthz; 0 for any free one."""

    console_port: int | None = None
    """`CONSOLE_PORT`: port of the live page; 0 for any free one, empty for no page."""

    console_token: str = "/var/run/secrets/partisan.dev/console/token"
    """`CONSOLE_TOKEN`: file with the token by which a standby identifies itself to the leader."""

    pod_name: str = ""
    """`POD_NAME`: name of the operator's pod, which the Lease names; empty: the host's name."""

    pod_namespace: str = ""
    """`POD_NAMESPACE`: its namespace, in which a standby finds the leader's pod."""

    service_account: str = ""
    """`SERVICE_ACCOUNT`: the ServiceAccount of all pods of the operator."""

    log_level: str = "info"
    """`LOG_LEVEL`: debug, info, warning or error."""

    log_format: Literal["text", "json"] = "text"
    """`LOG_FORMAT`: text for people, json for programs."""

    @property
    def installation(self) -> Installation:
        """The settings that apply to all clusters."""
        return Installation(
            node_image=self.node_image,
            allowed_annotations=self.allowed_pod_annotations,
            nodes_monitored=self.nodes_monitored,
        )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Read the settings. Raises `SettingsError`."""
        read = _Reader(environment)
        default = cls()
        settings = cls(
            node_image=read.text("NODE_IMAGE") or default.node_image,
            namespaces=read.names("WATCH_NAMESPACES", ()),
            max_rolling_clusters=read.count(
                "MAX_ROLLING_CLUSTERS", default.max_rolling_clusters, 0
            ),
            lease_namespace=read.text("LEASE_NAMESPACE") or default.lease_namespace,
            idle_period=read.seconds("INTERVAL", default.idle_period),
            active_period=read.seconds("ACTIVE_INTERVAL", default.active_period),
            resync_period=read.seconds("RESYNC_INTERVAL", default.resync_period),
            scrape_timeout=read.seconds("SCRAPE_TIMEOUT", default.scrape_timeout),
            scrape_concurrency=read.count("SCRAPE_CONCURRENCY", default.scrape_concurrency, 1),
            nodes_monitored=read.choice("NODES_MONITORED", "false", "true") == "true",
            allowed_pod_annotations=read.names(
                "ALLOWED_POD_ANNOTATIONS", default.allowed_pod_annotations
            ),
            metrics_port=read.port("METRICS_PORT", default.metrics_port),
            console_port=read.port("CONSOLE_PORT", 0) if read.text("CONSOLE_PORT") else None,
            console_token=read.text("CONSOLE_TOKEN") or default.console_token,
            pod_name=read.text("POD_NAME"),
            pod_namespace=read.text("POD_NAMESPACE"),
            service_account=read.text("SERVICE_ACCOUNT"),
            log_level=read.choice("LOG_LEVEL", "info", "debug", "warning", "error"),
            log_format="json" if read.choice("LOG_FORMAT", "text", "json") == "json" else "text",
        )
        if settings.console_port and settings.console_port == settings.metrics_port:
            raise SettingsError(
                f"{PREFIX}CONSOLE_PORT: {settings.console_port} is {PREFIX}METRICS_PORT too: choose"
                " another one"
            )
        return settings


@dataclass(frozen=True)
class _Reader:
    environment: Mapping[str, str]

    def text(self, name: str) -> str:
        return self.environment.get(PREFIX + name, "").strip()

    def names(self, name: str, default: tuple[str, ...]) -> tuple[str, ...]:
        if PREFIX + name not in self.environment:
            return default
        return tuple(filter(None, map(str.strip, self.text(name).split(","))))

    def seconds(self, name: str, default: float) -> float:
        try:
            return milliseconds(self.text(name)) / 1000 if self.text(name) else default
        except ValueError as error:
            raise SettingsError(f"{PREFIX}{name}: {error}") from error

    def count(self, name: str, default: int, least: int) -> int:
        text = self.text(name) or str(default)
        if not text.isdecimal() or int(text) < least:
            raise SettingsError(f"{PREFIX}{name}: {text!r} is not a number of at least {least}")
        return int(text)

    def port(self, name: str, default: int) -> int:
        port = self.count(name, default, 0)
        if port > _MOST_PORT:
            raise SettingsError(f"{PREFIX}{name}: {port} is no port: at most {_MOST_PORT}")
        return port

    def choice(self, name: str, default: str, *others: str) -> str:
        text = self.text(name).lower() or default
        if text not in (default, *others):
            raise SettingsError(
                f"{PREFIX}{name}: {text!r} is none of {', '.join((default, *others))}"
            )
        return text
