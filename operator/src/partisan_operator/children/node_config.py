"""`node.config`: what a node reads when it starts, as one map of Erlang terms."""

from __future__ import annotations

from partisan_operator.children import naming
from partisan_operator.children.child import digest
from partisan_operator.children.erlang_terms import Atom, Term, render
from partisan_operator.models import PartisanCluster
from partisan_operator.models.overlay import HyParView, Overlay, OverlayKind
from partisan_operator.models.quantities import milliseconds
from partisan_operator.models.workload import AdCounter, Workload

_OF_THE_SIZE = (Atom("replicas"), Atom("seeds"))
"""Keys that change when the cluster is scaled. A running node needs neither: it is in the
overlay already and learns of new members there. They are read again when a node restarts, and
are left out of `restart_hash`, or scaling would restart every pod."""


def node_config(cluster: PartisanCluster) -> dict[Atom, Term]:
    """Return the configuration that all nodes of a cluster share."""
    spec, name = cluster.spec, cluster.name
    seeds = naming.seed_ordinals(spec.replicas, spec.discovery.seeds)
    servers = naming.pod_names(name, spec.overlay.servers)
    return {
        Atom("cluster"): name,
        Atom("namespace"): cluster.namespace,
        Atom("replicas"): spec.replicas,
        Atom("servers"): list(servers),
        Atom("seeds"): [
            (naming.pod_name(name, ordinal), naming.pod_host(name, ordinal), naming.PARTISAN_PORT)
            for ordinal in seeds
        ],
        Atom("listen_port"): naming.PARTISAN_PORT,
        Atom("http_port"): naming.HTTP_PORT,
        Atom("overlay"): _overlay(spec.overlay, servers),
        Atom("channels"): [
            {
                Atom("name"): Atom(channel.name),
                Atom("parallelism"): channel.parallelism,
                Atom("monotonic"): channel.monotonic,
            }
            for channel in spec.channels
        ],
        Atom("workload"): _workload(spec.workload),
        Atom("run"): run_id(spec.workload),
    }


def restart_hash(cluster: PartisanCluster) -> str:
    """Return a hash that changes exactly when running nodes need a restart to follow the spec."""
    config = node_config(cluster)
    return digest(render({key: term for key, term in config.items() if key not in _OF_THE_SIZE}))


def run_id(workload: Workload | None) -> str:
    """Return the identity of the run that a workload describes; empty without a workload."""
    return "" if workload is None else digest(workload.to_wire())[:12]


def render_config(cluster: PartisanCluster) -> str:
    """Return the text of `node.config`: one key on a line, for people read it too."""
    lines = (f"{render(key)} => {render(term)}" for key, term in node_config(cluster).items())
    return "#{" + ",\n  ".join(lines) + "}.\n"


def _overlay(overlay: Overlay, servers: tuple[str, ...]) -> Term:
    match overlay.kind:
        case OverlayKind.FULL_MESH:
            return Atom("full_mesh"), {}
        case OverlayKind.CLIENT_SERVER:
            return Atom("client_server"), {Atom("servers"): list(servers)}
        case OverlayKind.HY_PAR_VIEW:
            view = overlay.hy_par_view or HyParView()
            return Atom("hyparview"), {
                Atom("active_max"): view.active_max,
                Atom("active_min"): view.active_min,
                Atom("passive_max"): view.passive_max,
                Atom("active_random_walk_length"): view.active_random_walk_length,
                Atom("passive_random_walk_length"): view.passive_random_walk_length,
                Atom("shuffle_interval"): milliseconds(view.shuffle_interval),
                Atom("promotion_interval"): milliseconds(view.promotion_interval),
            }


def _workload(workload: Workload | None) -> Term:
    if workload is None or workload.ad_counter is None:
        return Atom("none")
    counter: AdCounter = workload.ad_counter
    return Atom("adcounter"), {
        Atom("ads"): counter.ads,
        Atom("impressions"): counter.impressions,
        Atom("increment_interval"): milliseconds(counter.increment_interval),
        Atom("propagation_interval"): milliseconds(counter.propagation_interval),
    }
