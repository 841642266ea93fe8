"""The cells: which clusters are formed, and how they are deleted."""

from collections.abc import Collection
from dataclasses import dataclass

from scale_tests.cluster import crd
from scale_tests.cluster.agent import machine
from scale_tests.cluster.kube import Json, manifest
from scale_tests.host.documents import data_of
from scale_tests.host.templates import filled

SIZES = (64, 256, 1024)
LARGEST_MESH = 64
"""Nodes of a full mesh at the most: 256 have 200,000 connections, too many for two CPUs to form."""

CLUSTER = "ads"
PARAMETERS: dict[str, Json] = {
    "ClientServer": {"clientServer": {"servers": 1}},
    "Static": {"static": {"pattern": "Ring"}},
}
"""The parameters of overlays that have no defaults."""


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
        """The cluster."""
        large = self.nodes > SIZES[0]
        spec = filled(
            data_of(__file__),
            machine=machine,
            heartbeat="30s" if large else "5s",
            propagation="15s" if large else "5s",
            synchronization="Aggregate" if large else "Delta",
        )
        overlay = {"kind": self.overlay, **PARAMETERS.get(self.overlay, {})}
        return manifest(CLUSTER, replicas=self.nodes, overlay=overlay, **spec)


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
