"""What can be set from outside, by environment variables `PARTISAN_OPERATOR_*`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from partisan_operator.decide.installation import Installation
from partisan_operator.models.pods import ALLOWED_ANNOTATIONS
from partisan_operator.models.quantities import milliseconds

PREFIX = "PARTISAN_OPERATOR_"


class SettingsError(ValueError):
    """A variable holds what cannot be used; the text names it and says what can."""


@dataclass(frozen=True)
class Settings:
    """The operator's settings. Times are in seconds."""

    node_image: str = "partisan/erlang-node:0.1.0"
    """`NODE_IMAGE`: the image of clusters whose `spec.image` is empty. A change rolls them."""

    namespaces: tuple[str, ...] = ()
    """`WATCH_NAMESPACES`: comma-separated; empty means all, which needs a ClusterRole."""

    lease_namespace: str = "kube-system"
    """`LEASE_NAMESPACE`: where the Lease is that the operator of all namespaces holds while it
    acts. Two with different ones would both act. Unused with `WATCH_NAMESPACES`: there the Leases
    are in these."""

    idle_period: float = 10.0
    """`INTERVAL`: time between two looks at a settled cluster, as a duration such as `10s`. What
    happens to nodes without a change of their StatefulSet is noticed after that time."""

    active_period: float = 1.0
    """`ACTIVE_INTERVAL`: the same for a cluster that forms, rolls or runs its workload. Shorter
    starts the run sooner after the last node joined, and scrapes more."""

    resync_period: float = 60.0
    """`RESYNC_INTERVAL`: time between two looks at children of all kinds, which is how long a
    change that a watch lost stays unseen, and one of a Secret, for these are not watched. Children
    of the other kinds are looked at when one of them changes; StatefulSets and the pods' addresses
    at every look while a cluster is not settled too."""

    scrape_timeout: float = 2.0
    """`SCRAPE_TIMEOUT`: the most that one node's answer may take. Longer, and a node that hangs
    delays the look at the others; shorter, and nodes of a busy machine seem to hang."""

    scrape_concurrency: int = 64
    """`SCRAPE_CONCURRENCY`: requests to nodes at a time, over all clusters."""

    nodes_monitored: bool = False
    """`NODES_MONITORED`: true where the installation has a PodMonitor that selects the nodes of all
    clusters. Clusters that do not insist then get none of their own, for each would scrape its
    nodes once more."""

    allowed_pod_annotations: tuple[str, ...] = ALLOWED_ANNOTATIONS
    """`ALLOWED_POD_ANNOTATIONS`: comma-separated keys of annotations that clusters may give their
    pods, exactly, as `DOMAIN/*`, or `*` for all. A cluster with another one is left as it is."""

    metrics_port: int = 9090
    """`METRICS_PORT`: port of /metrics and /healthz; 0 lets the system choose."""

    log_level: str = "info"
    """`LOG_LEVEL`: debug, info, warning or error."""

    log_format: Literal["text", "json"] = "text"
    """`LOG_FORMAT`: text for people, json for machines."""

    @property
    def installation(self) -> Installation:
        """What holds for all clusters."""
        return Installation(
            node_image=self.node_image,
            allowed_annotations=self.allowed_pod_annotations,
            nodes_monitored=self.nodes_monitored,
        )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        """Read the settings; raises `SettingsError` for one that cannot be used."""
        read = _Reader(environment)
        default = cls()
        return cls(
            node_image=read.text("NODE_IMAGE") or default.node_image,
            namespaces=read.names("WATCH_NAMESPACES", ()),
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
            metrics_port=read.count("METRICS_PORT", default.metrics_port, 0),
            log_level=read.choice("LOG_LEVEL", "info", "debug", "warning", "error"),
            log_format="json" if read.choice("LOG_FORMAT", "text", "json") == "json" else "text",
        )


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
            raise SettingsError(f"{PREFIX}{name}: {text!r} is no number of at least {least}")
        return int(text)

    def choice(self, name: str, default: str, *others: str) -> str:
        text = self.text(name).lower() or default
        if text not in (default, *others):
            raise SettingsError(
                f"{PREFIX}{name}: {text!r} is none of {', '.join((default, *others))}"
            )
        return text
