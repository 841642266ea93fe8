"""The images in the container runtimes of the nodes."""

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from scale_tests.host.commands import capture
from scale_tests.localkube import ociarchive, waiting
from scale_tests.localkube.nodes import Node
from scale_tests.localkube.settings import PAUSE_IMAGE

CRI_LABEL = "io.cri-containerd.image=managed"
"""The label that an image carries once the kubelet can use it."""


def load(node: Node, archives: Iterable[Path]) -> list[str]:
    """Imports the images of OCI archives that a node lacks; returns their names.

    On return the kubelet can start containers from all of them. Raises ExpectedError,
    CommandError: containerd refuses it; waiting.TimedOutError: the kubelet is not offered it.
    """
    present = _images(node)
    loaded: list[str] = []
    for archive in archives:
        wanted = ociarchive.images(archive)
        if not wanted.items() <= present.items():
            _import(node, archive)
            loaded += wanted
    _wait_until_offered(node, loaded)
    return loaded


def share(nodes: Sequence[Node], pause: Path) -> None:
    """Gives the first node the pause image of a program, and the others all that the first has.

    Raises as `load` does.
    """
    first, *further = nodes
    with tempfile.TemporaryDirectory() as directory:
        archive = Path(directory) / "pause.tar"
        ociarchive.write_single_binary_image(archive, PAUSE_IMAGE, pause)
        load(first, [archive])
    for node in further:
        copy_images(first, node)


def copy_images(source: Node, target: Node) -> None:
    """Gives a node another one's images, as there is no registry. Raises as `load` does."""
    there = _images(target)
    missing = [name for name, digest in _images(source).items() if there.get(name) != digest]
    if not missing:
        return
    with tempfile.TemporaryDirectory(dir=target.state) as directory:
        archive = Path(directory) / "images.tar"
        _ctr(source, "images", "export", str(archive), *missing)
        _import(target, archive)
    _wait_until_offered(target, missing)


def _import(node: Node, archive: Path) -> None:
    _ctr(node, "images", "import", "--digests=false", str(archive))


def _images(node: Node) -> dict[str, str]:
    """The digest of each image's manifest, by name.

    containerd also lists every image under the digest of its configuration.
    """
    return {row[0]: row[2] for row in _rows(node) if not row[0].startswith("sha256:")}


def _rows(node: Node) -> list[list[str]]:
    return [line.split() for line in _ctr(node, "images", "ls").splitlines()[1:]]


def _wait_until_offered(node: Node, names: Sequence[str]) -> None:
    """Waits until the kubelet can start containers from these images."""

    def unmanaged() -> str:
        managed = {row[0] for row in _rows(node) if CRI_LABEL in row[-1]}
        missing = [name for name in names if name not in managed]
        return f"containerd does not offer {', '.join(missing)} to the kubelet" if missing else ""

    waiting.until_none(unmanaged, seconds=300)


def _ctr(node: Node, *arguments: str) -> str:
    # The name space is that of what Kubernetes runs.
    return capture(["ctr", "-a", str(node.containerd_socket), "-n", "k8s.io", *arguments])
