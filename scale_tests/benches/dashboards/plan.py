"""The clusters of a staging run."""

from __future__ import annotations

from dataclasses import dataclass

from scale_tests.cluster.kube import Json
from scale_tests.cluster.subject import counter, manifest

IMPRESSIONS = 20
"""Of each node, one a second: so long does a run count."""

COMPARED = ".+-[0-9]+"
"""The names of the clusters of the comparison, as a regular expression."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The sizes of a staging run."""

    sizes: tuple[int, ...]
    """In nodes; there is a cluster of each for each of `overlays`, one after the other."""

    overlays: tuple[str, ...]
    faulty_nodes: int
    """Nodes of the cluster in which things go wrong."""

    killed: int
    """How many of them are killed at once, in the middle of its run."""

    @property
    def clusters(self) -> list[tuple[str, int]]:
        """The overlay and the size of each cluster of the comparison."""
        return [(overlay, nodes) for overlay in self.overlays for nodes in self.sizes]


FULL = Plan(sizes=(4, 8, 16, 32), overlays=("HyParView", "FullMesh"), faulty_nodes=32, killed=4)
QUICK = Plan(sizes=(4, 8), overlays=("HyParView", "FullMesh"), faulty_nodes=8, killed=1)


def compared(overlay: str, nodes: int) -> Json:
    """A cluster of the comparison."""
    return manifest(
        f"{overlay.lower()}-{nodes}",
        nodes,
        overlay={"kind": overlay},
        workload={"adCounter": counter(nodes, IMPRESSIONS)},
    )
