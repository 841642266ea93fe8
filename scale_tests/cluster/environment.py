"""The cluster and its images: a local one with images built here, or the user's own.

Without `KUBECONFIG` a Kubernetes starts on this machine, and images go into its runtime. With it,
images are pushed to `REGISTRY` and pulled from there.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from images.builder.catalogue import ARCHIVES, IMAGES, REPOSITORY, TAG
from scale_tests.host.commands import ExpectedError, stream
from scale_tests.localkube.ociarchive import images
from scale_tests.localkube.settings import Settings


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
        """The environment variables by which helm and kubectl find the cluster."""
        return {"KUBECONFIG": str(self.kubeconfig)}


def from_variables(variables: Mapping[str, str], *, pushing: bool = True) -> Environment:
    """The environment of `KUBECONFIG` and `REGISTRY`.

    A cluster of one's own needs no registry unless `pushing`. Raises ExpectedError: one of the
    two is missing.
    """
    kubeconfig = variables.get("KUBECONFIG", "")
    registry = variables.get("REGISTRY", "").rstrip("/")
    if (registry and not kubeconfig) or (pushing and kubeconfig and not registry):
        missing, present = ("REGISTRY", "KUBECONFIG") if kubeconfig else ("KUBECONFIG", "REGISTRY")
        raise ExpectedError(
            f"{present} is set but {missing} is not: a cluster of your own needs both, a registry "
            "that you may push to and it may pull from; unset both for a cluster on this machine"
        )
    repository = registry or REPOSITORY
    return Environment(
        kubeconfig=Path(kubeconfig or Settings().kubeconfig),
        local=not kubeconfig,
        operator_image=f"{repository}/operator:{TAG}",
        node_image=f"{repository}/erlang-node:{TAG}",
        prometheus_image=f"{repository}/prometheus:{TAG}",
    )


def bring_up() -> Environment:
    """Starts or finds the cluster, and provides it with freshly built images.

    Idempotent; prints progress. Raises ExpectedError, CommandError.
    """
    environment = from_variables(os.environ)
    if environment.local:
        bring_up_local()
    _module("images.builder", "build")
    if environment.local:
        load_images(*(image.archive for image in IMAGES))
    else:
        _module("images.builder", "push", os.environ["REGISTRY"])
    return environment


def bring_up_local(*options: str) -> None:
    """Brings the local cluster up, or gives it these options of `up`. Raises CommandError."""
    _module("scale_tests.localkube", "up", *options)


def add_image(environment: Environment, source: str) -> str:
    """Builds an example's image, or a directory's, for the cluster; returns its name there.

    Raises CommandError.
    """
    _module("images.builder", "build", source)
    name = Path(source).name
    if environment.local:
        load_images(ARCHIVES / f"{name}.tar")
    else:
        _module("images.builder", "push", os.environ["REGISTRY"], source)
    return f"{environment.node_image.rpartition('/')[0]}/{name}:{TAG}"


def load_images(*archives: Path) -> None:
    """Makes the images of archives usable by pods of the local cluster. Raises CommandError."""
    _module("scale_tests.localkube", "load-image", *map(str, archives))


def existing() -> Environment | None:
    """The environment of `bring_up`, if its cluster still runs, or the user's own cluster.

    Raises ExpectedError.
    """
    environment = from_variables(os.environ, pushing=False)
    return environment if not environment.local or environment.kubeconfig.exists() else None


def image_digest(name: str) -> str:
    """The digest of an image in `ARCHIVES`, empty if it was not built here; tags stay the same."""
    archive = ARCHIVES / f"{name}.tar"
    return next(iter(images(archive).values())) if archive.exists() else ""


def take_down() -> None:
    """Stops the local cluster and removes all that it left on this machine. Raises CommandError."""
    _module("scale_tests.localkube", "down")


def _module(module: str, *arguments: str) -> None:
    stream([sys.executable, "-m", module, *arguments])
