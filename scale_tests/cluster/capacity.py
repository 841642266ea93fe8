"""The number of pods that a cluster accepts."""

from dataclasses import dataclass

from scale_tests.cluster import environment as environments
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster
from scale_tests.cluster.wait import wait_for
from scale_tests.localkube import memory


@dataclass(frozen=True, kw_only=True)
class Capacity:
    """The sum over all nodes of a Kubernetes cluster, in pods."""

    limit: int
    """Pods that the nodes accept."""
    taken: int
    """Pods that have not ended."""

    @property
    def free(self) -> int:
        """Further pods that they accept."""
        return self.limit - self.taken


def capacity(cluster: Cluster, *, besides: str | None = None) -> Capacity:
    """The capacity of a cluster, without the pods of the namespace `besides`. Raises ApiError."""
    limits = [int(item["status"]["allocatable"]["pods"]) for item in cluster.list("api/v1/nodes")]
    return Capacity(
        limit=sum(limits),
        taken=sum(
            item["status"].get("phase") not in ("Succeeded", "Failed")
            and item["metadata"]["namespace"] != besides
            for item in cluster.list("api/v1/pods")
        ),
    )


def make_room(environment: Environment, pods: int, *, besides: str) -> None:
    """Raises the local cluster's limit of pods by so many, as far as memory allows.

    Pods of the namespace `besides` do not count. Other clusters are left alone. Raises ApiError,
    CommandError, StalledError.
    """
    if not environment.local:
        return
    cluster = Cluster(environment.kubeconfig)
    found = capacity(cluster, besides=besides)
    wanted = min(found.taken + pods, memory.of_machine().pods)
    if wanted > found.limit:
        environments.bring_up_local("--max-pods", str(wanted))
        # The node has the new limit after the first report of its restarted kubelet.
        wait_for("room", lambda: capacity(cluster).limit, lambda limit: limit >= wanted)


def shortage(environment: Environment, found: Capacity, pods: int) -> str:
    """The reason why a cluster cannot hold so many more pods, and the remedy for a local one."""
    short = f"the cluster has room for {found.free:,} more pods"
    if not environment.local:
        return short
    return f"{short}; {memory.of_machine().advice(found.taken + pods)}"
