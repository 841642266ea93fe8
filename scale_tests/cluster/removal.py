"""Deleting PartisanClusters and namespaces, waiting until they are really gone; new namespaces."""

from scale_tests.cluster.kube import Cluster, core, partisan_cluster
from scale_tests.cluster.partisan import CLUSTER_LABEL
from scale_tests.cluster.wait import wait_for


def remove_cluster(cluster: Cluster, namespace: str, name: str) -> None:
    """Deletes a PartisanCluster and waits for its end. Raises StalledError, ApiError."""
    path = partisan_cluster(namespace, name)
    cluster.delete(path)
    wait_for(
        f"deletion of the cluster {namespace}/{name}",
        lambda: (
            cluster.find(path) is not None,
            len(cluster.list(core(namespace, "pods"), f"{CLUSTER_LABEL}={name}")),
        ),
        lambda left: left == (False, 0),
    )


def start_over(cluster: Cluster, namespace: str, name: str) -> None:
    """Makes a namespace, unless it is there, in which there is no PartisanCluster of this name.

    Raises StalledError, ApiError.
    """
    remove_cluster(cluster, namespace, name)
    if cluster.find(f"api/v1/namespaces/{namespace}") is None:
        create_namespace(cluster, namespace)


def create_namespace(cluster: Cluster, name: str, *, restricted: bool = False) -> None:
    """Makes a namespace, with Pod Security's standard of this name if wanted. Raises ApiError."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"} if restricted else {}
    cluster.create("api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})


def renew_namespace(cluster: Cluster, name: str, *, restricted: bool = False) -> None:
    """Makes a namespace in which nothing is left. Raises StalledError, ApiError."""
    remove_namespace(cluster, name)
    create_namespace(cluster, name, restricted=restricted)


def remove_namespace(cluster: Cluster, name: str) -> None:
    """Deletes a namespace with its PartisanClusters and waits. Raises StalledError, ApiError."""
    for item in cluster.list(partisan_cluster(name)):
        cluster.delete(partisan_cluster(name, item["metadata"]["name"]))
    path = f"api/v1/namespaces/{name}"
    cluster.delete(path)
    wait_for(
        f"deletion of namespace {name}",
        lambda: (cluster.find(path), len(cluster.list(f"{path}/pods"))),
        lambda left: left[0] is None,
        progress=lambda left: left[1],
    )
