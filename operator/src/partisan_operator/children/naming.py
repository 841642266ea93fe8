"""Names and labels of a cluster's pods and other objects.

A cluster is divided into shards of at most 250 pods, each a StatefulSet with a headless Service of
the same name: more endpoints would not fit the slices and DNS answers of one Service. Ordinals are
continuous: shard k starts at ordinal 250k, so that an ordinal identifies one pod of the cluster
whatever its size.
"""

from dataclasses import dataclass

SHARD_SIZE = 250
"""Most pods of one StatefulSet. Part of the pods' names, so it must never change."""

PARTISAN_PORT = 7946
HTTP_PORT = 8080

CLUSTER_LABEL = "partisan.dev/cluster"
SHARD_LABEL = "partisan.dev/shard"
MANAGER = "partisan-operator"
MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"


@dataclass(frozen=True)
class Shard:
    """A range of ordinals in one StatefulSet."""

    cluster: str
    index: int
    replicas: int

    @property
    def name(self) -> str:
        """Name of the shard's StatefulSet and Service."""
        return shard_name(self.cluster, self.index)

    @property
    def start(self) -> int:
        """The shard's first ordinal."""
        return self.index * SHARD_SIZE


def shard_name(cluster: str, index: int) -> str:
    """Return the name of a shard: the cluster's own name for the first one."""
    return cluster if index == 0 else f"{cluster}-s{index}"


def shard_index(cluster: str, name: str) -> int | None:
    """Return the index of the shard of that name; None if it is no name of a shard.

    >>> shard_index("ads", "ads-s1"), shard_index("ads", "ads-sync")
    (1, None)
    """
    if name == cluster:
        return 0
    tail = name.removeprefix(f"{cluster}-s")
    index = int(tail) if tail.isdecimal() else 0
    return index if index and shard_name(cluster, index) == name else None


def shards_of(cluster: str, replicas: int) -> tuple[Shard, ...]:
    """Divide `replicas` ordinals into shards.

    >>> [(shard.name, shard.start, shard.replicas) for shard in shards_of("ads", 300)]
    [('ads', 0, 250), ('ads-s1', 250, 50)]
    """
    count = -(-replicas // SHARD_SIZE)
    return tuple(
        Shard(cluster, index, min(SHARD_SIZE, replicas - index * SHARD_SIZE))
        for index in range(count)
    )


def pod_name(cluster: str, ordinal: int) -> str:
    """Return the name of the pod with that ordinal, which is the node's name too."""
    return f"{shard_name(cluster, ordinal // SHARD_SIZE)}-{ordinal}"


def pod_names(cluster: str, replicas: int) -> tuple[str, ...]:
    """Return the names of all pods, in the order of their ordinals."""
    return tuple(pod_name(cluster, ordinal) for ordinal in range(replicas))


def seed_ordinals(replicas: int, seeds: int) -> tuple[int, ...]:
    """Return the ordinals of the seeds: evenly spread over shards and Kubernetes nodes.

    >>> seed_ordinals(32, 3)
    (0, 11, 21)
    """
    count = min(seeds, replicas)
    return tuple((2 * index * replicas + count) // (2 * count) for index in range(count))


def seed_names(cluster: str, replicas: int, seeds: int) -> tuple[str, ...]:
    """Return the names of the seeds, in the order of their ordinals."""
    return tuple(pod_name(cluster, ordinal) for ordinal in seed_ordinals(replicas, seeds))


def pod_host(cluster: str, ordinal: int) -> str:
    """Return the DNS name of a pod as the other pods of the namespace resolve it."""
    return f"{pod_name(cluster, ordinal)}.{shard_name(cluster, ordinal // SHARD_SIZE)}"


def selector_labels(cluster: str) -> dict[str, str]:
    """Return the labels that select all pods of a cluster, and nothing else."""
    return {CLUSTER_LABEL: cluster}


def selector(cluster: str) -> str:
    """Return the same selector as text."""
    return f"{CLUSTER_LABEL}={cluster}"


def shards_selector(cluster: str) -> str:
    """Return the selector of what belongs to a shard of a cluster."""
    return f"{selector(cluster)},{SHARD_LABEL}"


def labels(cluster: str) -> dict[str, str]:
    """Return the labels that every child carries."""
    return {
        "app.kubernetes.io/name": "partisan-node",
        "app.kubernetes.io/instance": cluster,
        "app.kubernetes.io/part-of": "partisan",
        MANAGED_BY_LABEL: MANAGER,
        **selector_labels(cluster),
    }
