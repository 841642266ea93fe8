"""The images in the cluster's container runtime."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

from scale_tests.localkube import ociarchive, waiting
from scale_tests.localkube.commands import run
from scale_tests.localkube.settings import PAUSE_IMAGE, Settings

NAMESPACE = "k8s.io"
"""containerd's name space of what Kubernetes runs."""

CRI_LABEL = "io.cri-containerd.image=managed"
"""The label that an image carries once the kubelet can use it."""


def load(settings: Settings, archives: Iterable[Path]) -> list[str]:
    """Imports the images of OCI archives that are not there yet, and returns their names.

    On return the kubelet can start containers from all of them.

    Raises:
        ociarchive.ArchiveError: a file is no archive of named images.
        CommandError: containerd refuses it.
        waiting.TimedOutError: containerd took it, but does not offer it to the kubelet.
    """
    present = _images(settings)
    loaded = []
    for archive in archives:
        wanted = ociarchive.images(archive)
        if all(present.get(image.name) == image.digest for image in wanted):
            continue
        _ctr(settings, "images", "import", "--digests=false", str(archive))
        loaded += [image.name for image in wanted]
    waiting.until_none(lambda: _unmanaged(settings, loaded), seconds=30)
    return loaded


def load_pause_image(settings: Settings, program: Path) -> None:
    """Makes the pause image from its program, and imports it. Raises as `load` does."""
    with tempfile.TemporaryDirectory() as directory:
        archive = Path(directory) / "pause.tar"
        ociarchive.write_single_binary_image(archive, PAUSE_IMAGE, program)
        load(settings, [archive])


def _images(settings: Settings) -> dict[str, str]:
    """The digest of each image's manifest, by name."""
    rows = [line.split() for line in _ctr(settings, "images", "ls").splitlines()[1:]]
    return {row[0]: row[2] for row in rows}


def _unmanaged(settings: Settings, names: list[str]) -> str:
    rows = [line.split() for line in _ctr(settings, "images", "ls").splitlines()[1:]]
    managed = {row[0] for row in rows if CRI_LABEL in row[-1]}
    missing = [name for name in names if name not in managed]
    return f"containerd does not offer {', '.join(missing)} to the kubelet" if missing else ""


def _ctr(settings: Settings, *arguments: str) -> str:
    return run(["ctr", "-a", str(settings.containerd_socket), "-n", NAMESPACE, *arguments])
