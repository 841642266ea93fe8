"""The cells: which clusters are formed, and how they are deleted."""

from collections.abc import Collection
from dataclasses import dataclass

from scale_tests.cluster import crd
from scale_tests.cluster.agent import machine
from scale_tests.cluster.kube import Json, manifest

SIZES = (64, 256, 1024)
LARGEST_MESH = 64
"""Nodes of a full mesh at the most: 256 have 200,000 connections, too many for two CPUs to form."""

CLUSTER = "ads"
WHERE = "processes"
"""The place of the nodes: plain processes of a node agent."""


@dataclass(frozen=True, kw_only=True)
class Point:
    """One cluster. `deleted` is the deleted object: the cluster itself, or its namespace."""

    nodes: int
    overlay: str
    deleted: str = "cluster"

    @property
    def slug(self) -> str:
        """A name for files."""
        return f"{self.overlay.lower()}-{self.nodes}-{self.deleted}"

    def manifest(self) -> Json:
        """The cluster, which counts until it is deleted."""
        large = self.nodes > SIZES[0]
        return manifest(
            CLUSTER,
            replicas=self.nodes,
            overlay=_overlay(self.overlay),
            # Two CPUs have two milliseconds of each second for one of a thousand nodes, and a
            # mesh of 256 has 32,640 links to keep alive and to gossip over.
            heartbeatInterval="30s" if large else "5s",
            workload={
                "adCounter": {
                    "impressions": 1_000_000,
                    "incrementInterval": "10s",
                    "propagationInterval": "15s" if large else "5s",
                },
                "synchronization": "Aggregate" if large else "Delta",
            },
            channels=[
                {"name": "default", "parallelism": 1},
                {"name": "gossip", "parallelism": 1, "monotonic": True},
            ],
            resources={"requests": {"cpu": "1m", "memory": "18Mi"}},
            nodeSelector={machine.LABEL: machine.NAME},
            tolerations=[{"key": machine.LABEL, "operator": "Exists"}],
        )


def points(
    *, quick: bool, sizes: Collection[int] = (), overlays: Collection[str] = ()
) -> list[Point]:
    """All cells: every overlay at every size, and a namespace with a cluster at each size."""
    chosen = [
        size for size in SIZES if size in (sizes or SIZES) and not (quick and size > SIZES[0])
    ]
    kinds = ("HyParView", "FullMesh", "ClientServer") if quick else crd.overlays()
    found = []
    for nodes in chosen:
        found += [
            Point(nodes=nodes, overlay=overlay)
            for overlay in kinds
            if overlay != "FullMesh" or nodes <= LARGEST_MESH
        ]
        found.append(Point(nodes=nodes, overlay="HyParView", deleted="namespace"))
    return [point for point in found if point.overlay in (overlays or kinds)]


def _overlay(kind: str) -> Json:
    parameters = {"ClientServer": {"servers": 1}, "Static": {"pattern": "Ring"}}
    if kind not in parameters:
        return {"kind": kind}
    return {"kind": kind, kind[0].lower() + kind[1:]: parameters[kind]}
