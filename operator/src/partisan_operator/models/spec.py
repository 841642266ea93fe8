"""`PartisanCluster.spec`: what the user wants."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from partisan_operator.models.base import Resource, Rule, keyed_by, rules
from partisan_operator.models.metrics import Metrics
from partisan_operator.models.overlay import Overlay
from partisan_operator.models.pods import Pods
from partisan_operator.models.quantities import Heartbeat
from partisan_operator.models.scheduling import (
    ImagePullPolicy,
    LabelValue,
    LocalObjectReference,
    NetworkPolicy,
    OpaqueObject,
    Resources,
    Rollout,
    Toleration,
)
from partisan_operator.models.security import Security
from partisan_operator.models.workload import Channel, Workload

MAX_REPLICAS = 1024
MAX_FULL_MESH = 256
DEFAULT_HEARTBEAT = "5s"


class Discovery(Resource):
    """How a node finds its first peers."""

    seeds: Annotated[int, Field(ge=1, le=8)] = 3
    """Number of seeds: nodes, spread evenly over the ordinals, that every node joins through.
    With fewer replicas every node is a seed."""


class PartisanClusterSpec(Resource):
    """The wanted state of a cluster of overlay nodes."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                f"self.overlay.kind != 'FullMesh' || self.replicas <= {MAX_FULL_MESH}"
                " || (has(self.overlay.fullMesh) && self.overlay.fullMesh.allowLarge)",
                f"replicas must be at most {MAX_FULL_MESH} with overlay.kind FullMesh: use"
                " HyParView, or set overlay.fullMesh.allowLarge to true",
                ".replicas",
            ),
            Rule(
                "!has(self.overlay.clientServer)"
                " || self.overlay.clientServer.servers <= self.replicas",
                "overlay.clientServer.servers must not exceed replicas: lower servers or raise"
                " replicas",
                ".overlay.clientServer.servers",
            ),
            Rule(
                "!has(self.overlay.static) || !has(self.overlay.static.edges)"
                " || self.overlay.static.edges.all(e, e.all(end, end < self.replicas))",
                "overlay.static.edges must name ordinals below replicas: remove the edges beyond or"
                " raise replicas",
                ".overlay.static.edges",
            ),
            Rule(
                "!has(self.overlay.static) || !has(self.overlay.static.edges)"
                " || self.overlay.static.edges.size() >= self.replicas - 1",
                "overlay.static.edges are too few to connect all replicas: add edges for every"
                " ordinal or lower replicas",
                ".overlay.static.edges",
            ),
            Rule(
                "(has(self.security) && has(self.security.tls))"
                " == (has(oldSelf.security) && has(oldSelf.security.tls))",
                "security.tls can be neither added nor removed, for nodes with TLS and nodes"
                " without it do not connect: delete the cluster and create it anew",
                ".security",
            ),
        )
    )

    replicas: Annotated[int, Field(ge=1, le=MAX_REPLICAS)] = 3
    """Number of nodes, one pod each."""

    image: Annotated[str, Field(max_length=512)] = ""
    """Image of the node. Empty means the image that the operator was configured with."""

    image_pull_policy: ImagePullPolicy = ImagePullPolicy.IF_NOT_PRESENT
    """When the image is pulled: Always, IfNotPresent or Never."""

    image_pull_secrets: Annotated[tuple[LocalObjectReference, ...], Field(max_length=8)] = ()
    """Secrets with the credentials of the image's registry."""

    overlay: Overlay = Overlay()
    """How the nodes connect."""

    channels: Annotated[
        tuple[Channel, ...],
        Field(
            min_length=1,
            max_length=16,
            json_schema_extra={
                **keyed_by("name"),
                **rules(
                    Rule(
                        "self.exists(c, c.name == 'default')",
                        "channels must hold one named default: messages that name no channel"
                        " travel on it",
                    )
                ),
            },
        ),
    ] = (Channel(name="default"), Channel(name="gossip", monotonic=True))
    """The channels that the application uses; names are unique."""

    discovery: Discovery = Discovery()
    """How a node finds its first peers."""

    heartbeat_interval: Heartbeat = DEFAULT_HEARTBEAT
    """How often a node asks each neighbour for a sign of life, and how often a seed shows all nodes
    that it is there. A neighbour that is silent for two intervals is given up, a node that hears
    nothing of a seed for three joins it anew; failures that close a connection are seen at once.
    These messages are the greater part of what a node at rest costs. A change replaces the pods."""

    workload: Workload | None = None
    """What the nodes run once they are connected. Absent means nothing: the nodes only keep
    the overlay. A change of the workload restarts the nodes and starts a new run."""

    rollout: Rollout = Rollout()
    """How a change reaches the pods."""

    paused: bool = False
    """While true the operator watches and reports, but changes nothing."""

    security: Security = Security()
    """How nodes prove to each other who they are."""

    network_policy: NetworkPolicy = NetworkPolicy()
    """Who may connect to the nodes."""

    metrics: Metrics = Metrics()
    """How the nodes' metrics are collected."""

    pods: Pods = Pods()
    """What the pods carry besides what the operator gives them."""

    resources: Resources = Resources()
    """Compute resources of each node."""

    node_selector: Annotated[dict[str, LabelValue], Field(max_length=32)] = Field(
        default_factory=dict
    )
    """Labels of the machines that pods may run on."""

    tolerations: Annotated[tuple[Toleration, ...], Field(max_length=16)] = ()
    """Taints that pods tolerate."""

    affinity: OpaqueObject | None = None
    """Affinity of the pods, as in a pod's spec. Checked by the API server in the StatefulSet."""

    topology_spread_constraints: Annotated[tuple[OpaqueObject, ...], Field(max_length=8)] | None = (
        None
    )
    """How pods spread, as in a pod's spec. Absent means over zones and machines as evenly as the
    scheduler can (ScheduleAnyway); an empty list means no constraint."""

    priority_class_name: Annotated[str, Field(max_length=253)] = ""
    """PriorityClass of the pods. Empty means the default of the Kubernetes cluster."""
