"""The cluster and its images: a local one with images built here, or the user's own.

Without `KUBECONFIG` a Kubernetes starts on this machine, and images go into its runtime. With it,
images are pushed to `REGISTRY` and pulled from there.
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
    """The environment of `KUBECONFIG` and `REGISTRY`.

    A cluster of one's own needs no registry unless `pushing`. Raises ConfigurationError: one of the
    two is missing.
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
    """Starts or finds the cluster, and provides it with freshly built images.

    Idempotent; prints progress. Raises ConfigurationError, CommandError.
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
    """Gives the local cluster so many nodes. Raises CommandError."""
    _module("scale_tests.localkube", "up", "--nodes", str(nodes))


def add_image(environment: Environment, name: str) -> str:
    """Builds an example's image for the cluster; returns its name there. Raises CommandError."""
    _module("images.builder", "build", name)
    if environment.local:
        _module("scale_tests.localkube", "load-image", str(ARCHIVES / f"{name}.tar"))
    else:
        _module("images.builder", "push", os.environ["REGISTRY"], name)
    return f"{environment.node_image.rpartition('/')[0]}/{name}:{TAG}"


def existing() -> Environment | None:
    """The environment of `bring_up`, if its cluster still runs, or the user's own cluster.

    Raises ConfigurationError.
    """
    environment = from_variables(os.environ, "", pushing=False)
    if not environment.local:
        return environment
    path = capture([sys.executable, "-m", "scale_tests.localkube", "kubeconfig"]).strip()
    return from_variables({}, path) if path and Path(path).exists() else None


def image_digest(name: str) -> str:
    """The digest of an image in `ARCHIVES`, empty if it was not built here; tags stay the same."""
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
