"""Controllers and nodes for the API server in memory.

`step` is one round of all of them: the StatefulSet controller creates, removes and counts pods, the
EndpointSlice controller publishes them, the garbage collector removes objects without an owner, and
nodes join. The class replaces the scraper too.
"""

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from fake_api import FakeApi, Json
from partisan_operator.children import naming
from partisan_operator.children.child import digest
from partisan_operator.decide.rotation import Loaded
from partisan_operator.observe.certificate_secrets import read_store
from partisan_operator.observe.observation import Endpoint, Seen
from partisan_operator.observe.scraper import ScrapeError
from world import START, followed, report

NAMESPACE = "/namespaces/default"
CLUSTER = f"/apis/partisan.dev/v1alpha1{NAMESPACE}/partisanclusters/ads"
PODS = f"/api/v1{NAMESPACE}/pods"
SETS = f"/apis/apps/v1{NAMESPACE}/statefulsets"
SLICE = f"/apis/discovery.k8s.io/v1{NAMESPACE}/endpointslices/ads"
CONFIG = f"/api/v1{NAMESPACE}/configmaps/ads-config"
AUTHORITY = f"/api/v1{NAMESPACE}/secrets/ads-ca"
CERTIFICATE = f"/api/v1{NAMESPACE}/secrets/ads-tls"


@dataclass
class FakeCluster:
    """The rest of Kubernetes, and the nodes."""

    api: FakeApi
    started: list[str] = field(default_factory=list)
    """Pods through which a run was started."""

    made: list[str] = field(default_factory=list)
    """Names of pods in the order of their creation."""

    following: dict[str, str] = field(default_factory=dict)
    """The configuration that each node follows, by the uid of its pod."""

    loaded: dict[str, Loaded] = field(default_factory=dict)
    """The certificate and the authorities that each node uses, by the uid of its pod."""

    issuers: dict[str, str] = field(default_factory=dict)
    """The authority of each certificate that was ever loaded, as fingerprints."""

    loads: int = 0

    _addresses: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def step(self) -> None:
        """Run one round of all controllers and nodes."""
        for path, live in list(self.api.objects.items()):
            if path.startswith(SETS):
                self._reconcile(live)
        self._collect_garbage()
        for path, pod in self.api.objects.items():
            if path.startswith(f"{PODS}/"):
                pod["status"]["phase"] = "Running"
        self._load()
        self._publish()

    def own(self) -> dict[str, Json]:
        """Return all objects except the cluster itself, events and objects of controllers."""
        hidden = (CLUSTER, SLICE, f"/api/v1{NAMESPACE}/events")
        return {p: item for p, item in self.api.objects.items() if not p.startswith(hidden)}

    def pods(self) -> dict[str, str]:
        """Return the uid of each pod by name."""
        return {
            path.rpartition("/")[2]: item["metadata"]["uid"]
            for path, item in self.api.objects.items()
            if path.startswith(f"{PODS}/")
        }

    async def scrape(
        self, endpoints: Iterable[Endpoint], *, traffic: bool = False
    ) -> tuple[dict[str, Seen], dict[str, str]]:
        """Report a ring of all running nodes, as the scraper would."""
        pods = [endpoint for endpoint in endpoints if endpoint.ready]
        return {
            pod.pod: Seen(
                report(
                    pod.pod,
                    active=(pods[index - 1].pod,),
                    tls=self._tls_report(pod.uid),
                    **followed(self.following[pod.uid]),
                ),
                pod.uid,
                START,
            )
            for index, pod in enumerate(pods)
        }, {}

    async def configure(self, endpoint: Endpoint, token: str, text: str) -> None:
        """Send a configuration to a node."""
        self._answered()
        self.following[endpoint.uid] = text
        self.api.written()
        self._answered()

    async def start_run(self, endpoint: Endpoint, token: str, run: str) -> None:
        """Start a run."""
        self._answered()
        self.started.append(endpoint.pod)
        self.api.written()
        self._answered()

    def _tls_report(self, uid: str) -> Json | None:
        loaded = self.loaded.get(uid)
        if loaded is None:
            return None
        return {"certificate": loaded.certificate, "authorities": sorted(loaded.trusted)}

    def _load(self) -> None:
        """Let starting nodes and one other read their files; check that all connect."""
        secret = read_store(None, self.api.objects.get(CERTIFICATE), "").nodes
        if secret is None or secret.certificate is None:
            return
        self.issuers[secret.certificate.fingerprint] = secret.certificate.issuer
        trusted = frozenset(one.fingerprint for one in secret.trusted)
        new = Loaded(secret.certificate.fingerprint, trusted)
        pods = self.pods().values()
        behind = [uid for uid in pods if self.loaded.get(uid) != new]
        for uid in {*behind[:1], *(uid for uid in behind if uid not in self.loaded)}:
            self.loaded[uid] = new
            self.loads += 1
        shown = {self.issuers[self.loaded[uid].certificate] for uid in pods}
        assert all(shown <= self.loaded[uid].trusted for uid in pods)

    def _answered(self) -> None:
        """Raise if the client has stopped listening."""
        if self.api.failure is not None:
            raise ScrapeError(self.api.failure[1])

    def _reconcile(self, live: Json) -> None:
        spec, metadata = live["spec"], live["metadata"]
        template, labels = spec["template"], metadata["labels"]
        revision = digest(template)
        start = spec["ordinals"]["start"]
        wanted = [f"{metadata['name']}-{start + i}" for i in range(spec["replicas"])]
        owner = {"kind": "StatefulSet", "uid": metadata["uid"], "controller": True}
        for name in wanted:
            if f"{PODS}/{name}" in self.api.objects:
                continue
            made = {
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "labels": labels | {"controller-revision-hash": revision},
                    "ownerReferences": [owner],
                    "annotations": {"address": f"10.0.0.{next(self._addresses)}"},
                },
                "status": {"phase": "Pending"},
            }
            pod = self.api.put(f"{PODS}/{name}", made)
            self.following[pod["metadata"]["uid"]] = self.api.objects[CONFIG]["data"]["node.config"]
            self.made.append(name)
        mine = {
            path: item
            for path, item in self.api.objects.items()
            if path.startswith(f"{PODS}/") and _owned(item, metadata["uid"])
        }
        for path in mine.keys() - {f"{PODS}/{name}" for name in wanted}:
            del self.api.objects[path], mine[path]
        new = [p for p in mine.values() if _revision(p) == revision]
        live["status"] = {
            "observedGeneration": metadata["generation"],
            "replicas": len(mine),
            "readyReplicas": sum(pod["status"]["phase"] == "Running" for pod in mine.values()),
            "updatedReplicas": len(new),
            "updateRevision": revision,
        }

    def _publish(self) -> None:
        endpoints = [
            {
                "addresses": [item["metadata"]["annotations"]["address"]],
                "conditions": {"serving": item["status"]["phase"] == "Running"},
                "targetRef": {
                    "kind": "Pod",
                    "name": item["metadata"]["name"],
                    "uid": item["metadata"]["uid"],
                },
            }
            for path, item in sorted(self.api.objects.items(), key=lambda pair: _ordinal(pair[0]))
            if path.startswith(f"{PODS}/")
        ]
        labels = naming.labels("ads") | {naming.SHARD_LABEL: "0"}
        self.api.put(SLICE, {"metadata": {"name": "ads", "labels": labels}, "endpoints": endpoints})

    def _collect_garbage(self) -> None:
        there = {item["metadata"]["uid"] for item in self.api.objects.values()}
        for path, item in list(self.api.objects.items()):
            owners = item["metadata"].get("ownerReferences") or ()
            if owners and all(owner["uid"] not in there for owner in owners):
                del self.api.objects[path]


def _owned(item: Json, uid: str) -> bool:
    return any(owner["uid"] == uid for owner in item["metadata"].get("ownerReferences") or ())


def _revision(pod: Json) -> Any:
    return pod["metadata"]["labels"]["controller-revision-hash"]


def _ordinal(path: str) -> int:
    found = re.search(r"-(\d+)$", path)
    return int(found[1]) if found else -1
