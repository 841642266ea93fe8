"""Which cluster, and which images: a local one with images built here, or one's own.

Without `KUBECONFIG` a Kubernetes is started on this machine and the images go straight into its
container runtime. With `KUBECONFIG`, that cluster is used as it is, and `REGISTRY` says where the
images are pushed to and pulled from.
"""

from __future__ import annotations

import json
import os
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scale_tests.host.commands import ROOT, capture, stream

ARCHIVES = ROOT / "build" / "images"
"""Where the images are built to, as OCI archives."""

IMAGES = ("erlang-node", "operator", "prometheus")
LOCAL_REPOSITORY = "localhost/partisan"
TAG = "dev"


class ConfigurationError(Exception):
    """The environment variables contradict each other; the message says what to set."""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """A cluster that runs, and the images that it can pull."""

    kubeconfig: Path
    local: bool
    operator_image: str
    node_image: str
    prometheus_image: str

    @property
    def variables(self) -> dict[str, str]:
        """What helm and kubectl need to find the cluster."""
        return {"KUBECONFIG": str(self.kubeconfig)}


def from_variables(
    variables: Mapping[str, str], local_kubeconfig: str, *, pushing: bool = True
) -> Environment:
    """The environment that `KUBECONFIG` and `REGISTRY` ask for.

    A cluster of one's own to which no images are pushed (`pushing`) needs no registry. Raises
    ConfigurationError: one of the two is set without the other.
    """
    kubeconfig = variables.get("KUBECONFIG", "")
    registry = variables.get("REGISTRY", "").rstrip("/")
    if (registry and not kubeconfig) or (pushing and kubeconfig and not registry):
        missing, present = ("REGISTRY", "KUBECONFIG") if kubeconfig else ("KUBECONFIG", "REGISTRY")
        raise ConfigurationError(
            f"{present} is set but {missing} is not: a cluster of your own needs both, a registry "
            "that you may push to and it may pull from; unset both for a cluster on this machine"
        )
    repository = registry or LOCAL_REPOSITORY
    return Environment(
        kubeconfig=Path(kubeconfig or local_kubeconfig),
        local=not kubeconfig,
        operator_image=f"{repository}/operator:{TAG}",
        node_image=f"{repository}/erlang-node:{TAG}",
        prometheus_image=f"{repository}/prometheus:{TAG}",
    )


def bring_up() -> Environment:
    """Starts (or finds) the cluster and puts freshly built images where it pulls them from.

    Idempotent, and quick when there is nothing to do. Progress goes to standard output. Raises
    ConfigurationError: the environment variables contradict each other; CommandError: a step
    failed.
    """
    environment = from_variables(os.environ, "")
    if environment.local:
        _module("scale_tests.localkube", "up")
        path = capture([sys.executable, "-m", "scale_tests.localkube", "kubeconfig"]).strip()
        environment = from_variables({}, path)
    _module("images.builder", "build")
    if environment.local:
        archives = [str(ARCHIVES / f"{name}.tar") for name in IMAGES]
        _module("scale_tests.localkube", "load-image", *archives)
    else:
        _module("images.builder", "push", os.environ["REGISTRY"])
    return environment


def let_local_cluster_take(pods: int) -> None:
    """Lets the local cluster take so many pods in all. Raises CommandError."""
    _module("scale_tests.localkube", "up", "--max-pods", str(pods))


def resize(nodes: int) -> None:
    """Gives the local cluster so many nodes. Those that leave do so with what is on them.

    Raises CommandError: it fails.
    """
    _module("scale_tests.localkube", "up", "--nodes", str(nodes))


def add_image(environment: Environment, name: str) -> str:
    """Builds an example's image and puts it where the cluster pulls from; returns its name there.

    Raises CommandError: a step failed.
    """
    _module("images.builder", "build", name)
    if environment.local:
        _module("scale_tests.localkube", "load-image", str(ARCHIVES / f"{name}.tar"))
    else:
        _module("images.builder", "push", os.environ["REGISTRY"], name)
    return f"{environment.node_image.rpartition('/')[0]}/{name}:{TAG}"


def existing() -> Environment | None:
    """The environment that `bring_up` made, if its cluster still runs; or a cluster of one's own.

    Without `REGISTRY`, nobody knows where the images of the latter come from: the operator that is
    in it does. Raises ConfigurationError: the environment variables contradict each other.
    """
    environment = from_variables(os.environ, "", pushing=False)
    if not environment.local:
        return environment
    path = capture([sys.executable, "-m", "scale_tests.localkube", "kubeconfig"]).strip()
    return from_variables({}, path) if path and Path(path).exists() else None


def image_digest(name: str) -> str:
    """The digest of an image in `ARCHIVES`, or nothing if it was not built here.

    Images keep their tag when they are rebuilt; the digest tells them apart.
    """
    archive = ARCHIVES / f"{name}.tar"
    if not archive.exists():
        return ""
    with tarfile.open(archive) as tar:
        index = tar.extractfile("index.json")
        assert index is not None, f"{archive} is no OCI archive"
        return str(json.load(index)["manifests"][0]["digest"])


def take_down() -> None:
    """Stops the local cluster and removes all that it left on this machine. Raises CommandError."""
    _module("scale_tests.localkube", "down")


def _module(module: str, *arguments: str) -> None:
    stream([sys.executable, "-m", module, *arguments])
