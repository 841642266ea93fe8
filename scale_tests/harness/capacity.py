"""How many pods a cluster takes."""

from __future__ import annotations

from dataclasses import dataclass

from scale_tests.harness.kube import Cluster


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """Of all machines of a cluster together, in pods."""

    limit: int
    """As many as they accept."""
    taken: int
    """As many as there are that have not ended."""

    @property
    def free(self) -> int:
        """How many more they accept."""
        return self.limit - self.taken

    def advice(self, pods: int) -> str:
        """The command with which a local cluster takes so many more pods."""
        return f"`python -m scale_tests.localkube up --max-pods {self.taken + pods}`"


def capacity(cluster: Cluster, *, besides: str | None = None) -> Capacity:
    """What a cluster takes; pods of the namespace `besides` do not count. Raises ApiError."""
    limits = [int(item["status"]["allocatable"]["pods"]) for item in cluster.list("api/v1/nodes")]
    return Capacity(
        limit=sum(limits),
        taken=sum(
            item["status"].get("phase") not in ("Succeeded", "Failed")
            and item["metadata"]["namespace"] != besides
            for item in cluster.list("api/v1/pods")
        ),
    )
