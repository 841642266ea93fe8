"""A simulation for pure code: an API server's objects, a StatefulSet controller, nodes that join.

It holds only what a plan can observe and change. `step` runs one round of the controllers and
nodes, so that a test can bring the core to rest without a cluster.
"""

import itertools
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from partisan_operator.children import config_map, desired_children, naming
from partisan_operator.children.child import digest
from partisan_operator.decide.actions import (
    Action,
    Adopt,
    Apply,
    Configure,
    Delete,
    DeletePod,
    MakeSecret,
    Plan,
    StartRun,
)
from partisan_operator.decide.installation import Installation
from partisan_operator.models import PartisanCluster
from partisan_operator.observe.observation import (
    Endpoint,
    Observation,
    PodMonitors,
    PodRevision,
    SecretSeen,
    SecretState,
    Seen,
)
from partisan_operator.observe.report import NodeReport

START = datetime(2026, 1, 1, tzinfo=UTC)
IMAGE = "node:1"
INSTALLATION = Installation(IMAGE)


def cluster(spec: dict[str, Any] | None = None, **metadata: Any) -> PartisanCluster:
    """Return a cluster named `ads` with that spec."""
    wire = {
        "namespace": "default",
        "name": "ads",
        "uid": "cluster-uid",
        "generation": 1,
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    status = metadata.pop("status", {})
    return PartisanCluster.from_wire(
        {"metadata": wire | metadata, "spec": spec or {}, "status": status}
    )


def manifest(kind: str, name: str = "ads", **spec: Any) -> dict[str, Any]:
    """Return a child of the cluster with this spec."""
    child = desired_children(cluster(spec), "node:1").find(kind, name)
    assert child is not None
    return child.manifest


def report(name: str, *, active: tuple[str, ...] = (), **fields: Any) -> NodeReport:
    """Return the report of a node that has joined."""
    fields.setdefault("incarnation", 1)
    joined = fields.pop("joined", True)
    kind, former = fields.pop("kind", "hyparview"), fields.pop("former", None)
    overlay = {"kind": kind, "former": former, "joined": joined, "active": active}
    return NodeReport.model_validate({"node": name, "overlay": overlay, **fields})


def followed(text: str) -> dict[str, str]:
    """Return the report of a node that follows a configuration."""
    revision = re.search(r'revision => <<"(\w+)">>', text)
    kind = re.search(r"overlay => {(\w+),", text)
    assert revision is not None
    assert kind is not None
    return {"revision": revision[1], "kind": kind[1]}


@dataclass
class Pod:
    """A pod, and the node in it."""

    name: str
    uid: str
    owner: str
    revision: str
    image: str
    configuration: str
    """The text that the node follows."""

    ready: bool = False


@dataclass
class World:
    """Objects and pods of one namespace."""

    objects: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    pods: dict[str, Pod] = field(default_factory=dict)
    broken_images: set[str] = field(default_factory=set)
    secrets: dict[str, SecretState] = field(default_factory=dict)
    """The state of the token and of the bearer; absent at first."""

    monitors: PodMonitors = PodMonitors.UNAVAILABLE
    interface: int = 2
    """Version of the HTTP interface of the nodes' image."""

    owner: PartisanCluster = field(default_factory=lambda: cluster())
    """The cluster that adopts."""

    started: list[str] = field(default_factory=list)
    now: datetime = START
    _uids: "itertools.count[int]" = field(default_factory=itertools.count)

    def observe(self, *, complete: bool = True) -> Observation:
        """Return the operator's observation."""
        joined = [pod.name for pod in self.pods.values() if pod.ready]
        ring = dict(zip(joined, joined[1:] + joined[:1], strict=True))
        kinds = None if complete else {"StatefulSet"}
        return Observation(
            at=self.now,
            live={
                key: value for key, value in self.objects.items() if not kinds or key[0] in kinds
            },
            complete=complete,
            token=self._secret("token"),
            bearer=self._secret("bearer"),
            monitors=self.monitors,
            endpoints={
                pod.name: Endpoint(pod.name, pod.uid, "10.0.0.1", pod.ready)
                for pod in self.pods.values()
            },
            seen={
                name: Seen(
                    report(
                        name,
                        active=(peer,),
                        interface=self.interface,
                        **followed(self.pods[name].configuration),
                    ),
                    self.pods[name].uid,
                    self.now,
                )
                for name, peer in ring.items()
            },
            pods=tuple(
                PodRevision(
                    pod.name, pod.uid, pod.owner, pod.revision, pod.image in self.broken_images
                )
                for pod in self.pods.values()
            ),
        )

    def _secret(self, key: str) -> SecretSeen:
        return SecretSeen(self.secrets.get(key, SecretState.ABSENT), f"uid-of-{key}")

    def perform(self, plan: Plan) -> None:
        """Carry out a plan."""
        for action in plan.actions:
            self._act(action)

    def _act(self, action: Action) -> None:
        match action:
            case Apply(child):
                live = self.objects.setdefault(child.key, {"metadata": {"uid": self._uid()}})
                metadata = live["metadata"] | child.manifest["metadata"]
                live |= child.manifest | {"metadata": metadata}
            case Adopt(orphan):
                metadata = self.objects[orphan.kind, orphan.name]["metadata"]
                assert metadata["uid"] == orphan.uid
                metadata["ownerReferences"] = [*orphan.owners, self.owner.owner_reference()]
            case Delete(kind, name, uid):
                assert self.objects.pop((kind, name))["metadata"]["uid"] == uid
            case DeletePod(pod):
                if pod.name in self.pods and self.pods[pod.name].uid == pod.uid:
                    del self.pods[pod.name]
            case MakeSecret(secret):
                assert secret.key not in self.secrets
                self.secrets[secret.key] = SecretState.VALID
            case Configure(text, nodes):
                for node in nodes:
                    self.pods[node.pod].configuration = text
            case StartRun(run):
                self.started.append(run)

    def step(self) -> None:
        """Run one round: missing pods appear, pods of earlier steps join."""
        self.now += timedelta(seconds=1)
        for pod in self.pods.values():
            pod.ready = pod.image not in self.broken_images
        for (kind, _), live in self.objects.items():
            if kind == "StatefulSet":
                self._reconcile_stateful_set(live)

    def _reconcile_stateful_set(self, live: dict[str, Any]) -> None:
        spec, uid = live["spec"], live["metadata"]["uid"]
        start = spec["ordinals"]["start"]
        template = spec["template"]
        revision = digest(template)
        image = template["spec"]["containers"][0]["image"]
        names = [f"{live['metadata']['name']}-{start + i}" for i in range(spec["replicas"])]
        for name in names:
            self.pods.setdefault(
                name, Pod(name, self._uid(), uid, revision, image, self._configuration())
            )
        for pod in [pod for pod in self.pods.values() if pod.owner == uid]:
            if pod.name not in names:
                del self.pods[pod.name]
        mine = [pod for pod in self.pods.values() if pod.owner == uid]
        live["metadata"]["generation"] = 1
        live["status"] = {
            "observedGeneration": 1,
            "replicas": len(mine),
            "readyReplicas": sum(pod.ready for pod in mine),
            "updatedReplicas": sum(pod.revision == revision for pod in mine),
            "updateRevision": revision,
        }

    def _configuration(self) -> str:
        """Return the configuration that a new pod reads."""
        text: str = self.objects["ConfigMap", config_map.name_of("ads")]["data"][config_map.FILE]
        return text

    def add_foreign(self, kind: str, name: str) -> None:
        """Add an object of another owner that carries the labels of ours."""
        self.objects[kind, name] = {
            "metadata": {"name": name, "uid": self._uid(), "labels": naming.labels("ads")},
            "spec": {"replicas": 0, "template": {}},
        }

    def _uid(self) -> str:
        return f"uid-{next(self._uids)}"
