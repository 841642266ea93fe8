"""A page with two scopes' worth of doubles: a reviewer that knows a few people, and a scope."""

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

from partisan_operator.api.errors import KubeError
from partisan_operator.console.hub import Hub
from partisan_operator.console.patches import apply
from partisan_operator.models import PartisanCluster, PartisanClusterStatus
from partisan_operator.observe.observation import Endpoint, Observation, Seen
from world import START, cluster, report

OPERATOR = "system:serviceaccount:system:operator"


@dataclass
class Reviewer:
    """An API server that reviews tokens and rights."""

    people: dict[str, str] = field(
        default_factory=lambda: {"alice-token": "alice", "bob-token": "bob"}
    )
    """Users by token."""

    peers: dict[str, str] = field(default_factory=lambda: {"peer-token": OPERATOR})
    """Users by token, of tokens for other pods of the operator."""

    rights: set[tuple[str, str]] = field(
        default_factory=lambda: {("alice", ""), ("bob", "default")}
    )
    """Users and the namespaces that they may read; empty for all."""

    asked: list[tuple[str, str]] = field(default_factory=list)
    failure: KubeError | None = None

    async def review(self, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        if self.failure is not None:
            raise self.failure
        if kind == "TokenReview":
            self.asked.append((kind, spec["token"]))
            audiences = spec.get("audiences")
            known = self.people if audiences is None else self.peers
            user = known.get(spec["token"])
            if user is None:
                return {"error": "unknown"}
            verdict = {"authenticated": True, "user": {"username": user, "groups": ["g"]}}
            return verdict | ({} if audiences is None else {"audiences": audiences})
        namespace = spec["resourceAttributes"]["namespace"]
        self.asked.append((kind, f"{spec['user']} {namespace}"))
        return {"allowed": (spec["user"], namespace) in self.rights}


@dataclass
class FakeScope:
    """The clusters of one Lease."""

    leading: bool = True
    holder: str = "op-1_00000001"
    namespaces: frozenset[str] = frozenset({"default", "other"})


def ads(name: str = "ads", *, namespace: str = "default", replicas: int = 3) -> PartisanCluster:
    """Return a cluster."""
    return cluster({"replicas": replicas}, name=name, namespace=namespace, uid=f"uid-{name}")


def status(joined: int) -> PartisanClusterStatus:
    """Return the status with so many joined nodes."""
    return PartisanClusterStatus(joined=joined)


def seen(*links: tuple[str, str]) -> Observation:
    """Return an observation with these links."""
    views: dict[str, list[str]] = {}
    for left, right in links:
        views.setdefault(left, []).append(right)
        views.setdefault(right, [])
    return Observation(
        at=START,
        endpoints={name: Endpoint(name, name, "10.0.0.1", True) for name in views},
        seen={
            name: Seen(report(name, active=tuple(peers)), name, START)
            for name, peers in views.items()
        },
    )


def events(data: bytes) -> list[dict[str, str]]:
    """Read server-sent events, without comments."""
    found = []
    for block in data.decode().split("\n\n"):
        lines = [line for line in block.split("\n") if line and not line.startswith(":")]
        if lines:
            found.append(dict(line.split(": ", 1) for line in lines))
    return found


class Page:
    """The document that a browser holds."""

    def __init__(self) -> None:
        self.document: dict[str, Any] = {}
        self.last = ""
        self.reasons: list[str] = []

    def receive(self, data: bytes) -> None:
        """Take in a piece of the stream."""
        for entry in events(data):
            content = json.loads(entry["data"])
            if entry["event"] == "snapshot":
                self.document = content["document"]
                self.reasons.append(content["reason"])
            else:
                self.document = apply(self.document, content["patch"])
            self.last = entry["id"]

    async def read(self, stream: AsyncGenerator[bytes]) -> None:
        """Take in the next piece."""
        self.receive(await anext(stream))

    def joined(self, key: str = "default/ads") -> int:
        """Return the joined nodes of a cluster."""
        number: int = self.document["clusters"][key]["nodes"]["joined"]
        return number


def shown(hub: Hub) -> dict[str, Any]:
    """Return what a viewer of everything, with `ads` open, should hold."""
    found: dict[str, Any] = {"clusters": {}, "details": {}}
    for part, document in hub._documents.items():
        if part.section == "clusters" or part.key == "default/ads":
            found[part.section][part.key] = document
    return found
