"""Builds images from their Dockerfiles and writes them as OCI archives."""

import hashlib
import os
import time
from pathlib import Path

from images.builder import bases, console, prometheus, wheels
from images.builder.bases import buildah
from images.builder.catalogue import OPERATOR, PROMETHEUS, TAG, Base, Image
from scale_tests.host import files
from scale_tests.host.commands import ROOT, ExpectedError, capture
from scale_tests.host.units import size

MAX_STORED = 100
"""Most images, including steps of earlier builds, that buildah keeps before steps are removed."""

IGNORED = ("_build", "__pycache__", "tests", "test", "*.egg-info")
"""Directories that are not part of an image, or change with every build."""


def inputs_digest(image: Image, root: Path = ROOT) -> str:
    """Hash of all inputs of the image."""
    digest = hashlib.sha256()
    for base in image.bases.values():
        own = inputs_digest(base, root) if isinstance(base, Image) else bases.fingerprint(base)
        digest.update(own.encode())
    digest.update(image.dockerfile.read_bytes())
    for source in image.sources:
        whole = root / source
        for path in [whole] if whole.is_file() else files.below(whole, IGNORED):
            if not path.is_file():
                continue  # such as the lock of an editor, a link to nothing
            digest.update(f"\0{os.path.relpath(path, root)}\0{path.stat().st_mode:o}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def build(image: Image, *, anew: bool = False) -> bool:
    """Builds an image unless up to date; returns whether it did. Raises ExpectedError.

    `anew` builds it in any case, from its base images, without steps of earlier builds.
    """
    if image is OPERATOR:
        wheels.ensure_wheels()
        console.ensure_page()
    if image is PROMETHEUS:
        prometheus.provide()
    if isinstance(image.base, Image):
        build(image.base)
    wanted = inputs_digest(image)
    stamp = image.archive.with_suffix(".digest")
    if not anew and image.archive.exists() and files.is_current(stamp, wanted):
        print(f"{image.reference} is up to date ({size(image.archive.stat().st_size)})", flush=True)
        return False
    print(f"{image.reference}: building", flush=True)
    began = time.monotonic()
    arguments = [f"{name}={_ensure_base(base)}" for name, base in image.bases.items()]
    buildah(
        *("build", "--isolation", "chroot", "--layers"),
        *(part for argument in arguments for part in ("--build-arg", argument)),
        # The same inputs give the same image, byte for byte, if the build allows it.
        *("--timestamp", "0", "--pull-never", *(["--no-cache"] if anew else [])),
        *("--file", str(image.dockerfile), "--tag", image.reference, str(ROOT / image.example)),
    )
    partial = image.archive.with_suffix(".partial")
    partial.parent.mkdir(parents=True, exist_ok=True)
    partial.unlink(missing_ok=True)
    buildah("push", "--quiet", image.reference, f"oci-archive:{partial}:{image.reference}")
    partial.rename(image.archive)
    # The steps of earlier builds use disk space.
    if len(buildah("images", "--all", "--quiet").splitlines()) > MAX_STORED:
        buildah("rmi", "--prune", "--force")
    stamp.write_text(wanted)
    written, seconds = size(image.archive.stat().st_size), time.monotonic() - began
    print(f"{image.reference}: {written} in {seconds:.0f} s", flush=True)
    return True


def push(image: Image, registry: str) -> str:
    """Pushes a built image to a registry; returns its name there. Raises ExpectedError."""
    if not image.archive.exists():
        raise ExpectedError(f"{image.archive} is missing: python -m images.builder build")
    name = f"{registry.rstrip('/')}/{image.name}:{TAG}"
    capture(["skopeo", "copy", f"oci-archive:{image.archive}", f"docker://{name}"])
    return name


def _ensure_base(base: Base | Image) -> str:
    """The name of an image's base in buildah's store."""
    if isinstance(base, Base):
        return bases.ensure_base(base)
    # Another checkout shares the store, and may have built this name since.
    buildah("pull", "--quiet", f"oci-archive:{base.archive}")
    return base.reference
