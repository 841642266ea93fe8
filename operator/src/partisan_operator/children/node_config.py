"""`node.config`: the configuration that a node reads at its start, one map of Erlang terms.

Running nodes follow a part of it too: the operator sends them the text, and they report the
`revision` in it.
"""

from partisan_operator.children import naming, tls_files
from partisan_operator.children.child import digest
from partisan_operator.children.erlang_terms import Atom, Term, render
from partisan_operator.children.overlay import overlay_term
from partisan_operator.models import PartisanCluster
from partisan_operator.models.quantities import milliseconds, whole
from partisan_operator.models.spec import DEFAULT_HEARTBEAT
from partisan_operator.models.workload import (
    DEFAULT_QUEUE_LIMIT,
    AdCounter,
    Channel,
    Synchronization,
    Workload,
)

_LIVE = (Atom("replicas"), Atom("seeds"), Atom("overlay"))
"""Keys that a running node follows when it is sent another configuration, together with the
parallelism of its channels."""

_CHANNELS, _PARALLELISM = Atom("channels"), Atom("parallelism")


def node_config(cluster: PartisanCluster) -> dict[Atom, Term]:
    """Return the configuration that all nodes of a cluster share, without its revision.

    Default values are left out, so that a new setting does not replace the pods of existing
    clusters.
    """
    spec, name = cluster.spec, cluster.name
    tls = tls_files.tls_term(cluster)
    heartbeat = milliseconds(spec.heartbeat_interval)
    is_default = heartbeat == milliseconds(DEFAULT_HEARTBEAT)
    seeds = naming.seed_ordinals(spec.replicas, spec.discovery.seeds)
    return {
        Atom("cluster"): name,
        Atom("namespace"): cluster.namespace,
        Atom("replicas"): spec.replicas,
        Atom("seeds"): [
            (naming.pod_name(name, ordinal), naming.pod_host(name, ordinal), naming.PARTISAN_PORT)
            for ordinal in seeds
        ],
        Atom("listen_port"): naming.PARTISAN_PORT,
        Atom("http_port"): naming.HTTP_PORT,
        Atom("overlay"): overlay_term(cluster),
        **({} if is_default else {Atom("heartbeat_interval"): heartbeat}),
        _CHANNELS: [_channel(channel) for channel in spec.channels],
        Atom("workload"): _workload(spec.workload),
        Atom("run"): run_id(spec.workload),
        **({} if tls is None else {Atom("tls"): tls}),
        **({Atom("development"): True} if spec.development else {}),
    }


def restart_hash(cluster: PartisanCluster) -> str:
    """Return a hash that changes exactly when nodes need a restart to follow the spec."""
    fixed = {key: term for key, term in node_config(cluster).items() if key not in _LIVE}
    channels: list[Term] = [
        {key: term for key, term in _channel(channel).items() if key != _PARALLELISM}
        for channel in cluster.spec.channels
    ]
    return digest(render({**fixed, _CHANNELS: channels}))


def revision(cluster: PartisanCluster) -> str:
    """Return a hash that changes exactly when running nodes can follow a change."""
    config = node_config(cluster)
    live: dict[Atom, Term] = {key: config[key] for key in _LIVE}
    parallelism = {Atom(channel.name): channel.parallelism for channel in cluster.spec.channels}
    return digest(render({**live, _PARALLELISM: parallelism}))[:12]


def run_id(workload: Workload | None) -> str:
    """Return the identity of the run that a workload describes; empty without a workload."""
    if workload is None:
        return ""
    # With the default that older operators stored, so that leaving it out starts no new run.
    return digest(workload.to_wire() | {"synchronization": workload.mode.value})[:12]


def render_config(cluster: PartisanCluster) -> str:
    """Return the text of `node.config`: one key on a line, for people to read."""
    config: dict[Atom, Term] = {**node_config(cluster), Atom("revision"): revision(cluster)}
    lines = (f"{render(key)} => {render(term)}" for key, term in config.items())
    return "#{" + ",\n  ".join(lines) + "}.\n"


def _channel(channel: Channel) -> dict[Atom, Term]:
    """Return a channel's term, without default values."""
    limit = whole(channel.queue_limit)
    is_default = limit == whole(DEFAULT_QUEUE_LIMIT)
    return {
        Atom("name"): Atom(channel.name),
        _PARALLELISM: channel.parallelism,
        Atom("monotonic"): channel.monotonic,
        **({Atom("acknowledged"): True} if channel.acknowledged else {}),
        **({} if is_default else {Atom("queue_bytes"): limit}),
    }


def parameters(workload: Workload) -> dict[Atom, Term]:
    """Return the parameters of the workload's module."""
    if workload.custom is not None:
        return {Atom(given.name): given.value for given in workload.custom.arguments}
    if workload.ad_counter is not None:
        return _ad_counter(workload.ad_counter, workload.mode)
    return {}


def _workload(workload: Workload | None) -> Term:
    return Atom("none") if workload is None else (Atom(workload.module), parameters(workload))


def _ad_counter(counter: AdCounter, synchronization: Synchronization) -> dict[Atom, Term]:
    return {
        Atom("ads"): counter.ads,
        Atom("impressions"): counter.impressions,
        Atom("increment_interval"): milliseconds(counter.increment_interval),
        Atom("propagation_interval"): milliseconds(counter.propagation_interval),
        Atom("synchronization"): Atom(synchronization.lower()),
    }
