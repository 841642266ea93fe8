"""OCI archives: makes the pause image, and reads which images an archive holds."""

import gzip
import hashlib
import io
import json
import platform
import tarfile
from pathlib import Path
from typing import Any

from scale_tests.host.commands import ExpectedError

REF_NAME = "org.opencontainers.image.ref.name"
"""The annotation that holds an image's name."""


def images(archive: Path) -> dict[str, str]:
    """The images of an archive: the digest of the manifest (`sha256:...`) by name.

    Raises ExpectedError: it is no archive of named images.
    """
    try:
        with tarfile.open(archive) as tar:
            member = tar.extractfile("index.json")
            manifests = json.load(member)["manifests"] if member else []
            found = {each["annotations"][REF_NAME]: each["digest"] for each in manifests}
    except (OSError, tarfile.TarError, KeyError, ValueError) as error:
        raise ExpectedError(f"{archive} is no OCI archive of named images: {error!r}") from error
    if not found:
        raise ExpectedError(f"{archive} holds no image")
    return found


def write_single_binary_image(archive: Path, name: str, program: Path) -> None:
    """Writes an image that consists of one static program, run as user 65535."""
    layer = tar({program.name: program.read_bytes()}, mode=0o755)
    compressed = gzip.compress(layer, mtime=0)
    architecture = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), "amd64")
    config = _json(
        {
            "architecture": architecture,
            "os": "linux",
            "config": {"Entrypoint": [f"/{program.name}"], "User": "65535:65535"},
            "rootfs": {"type": "layers", "diff_ids": [_digest(layer)]},
        }
    )
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": _descriptor("application/vnd.oci.image.config.v1+json", config),
            "layers": [_descriptor("application/vnd.oci.image.layer.v1.tar+gzip", compressed)],
        }
    )
    entry = _descriptor("application/vnd.oci.image.manifest.v1+json", manifest)
    index = _json({"schemaVersion": 2, "manifests": [{**entry, "annotations": {REF_NAME: name}}]})
    blobs = {
        f"blobs/sha256/{_digest(blob).removeprefix('sha256:')}": blob
        for blob in (compressed, config, manifest)
    }
    layout = _json({"imageLayoutVersion": "1.0.0"})
    archive.write_bytes(tar({"oci-layout": layout, "index.json": index, **blobs}, mode=0o644))


def tar(files: dict[str, bytes], *, mode: int) -> bytes:
    """A tar of files that belong to root, the same bytes each time."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as target:
        for path, content in files.items():
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(content), mode
            target.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def _descriptor(media_type: str, blob: bytes) -> dict[str, Any]:
    return {"mediaType": media_type, "digest": _digest(blob), "size": len(blob)}


def _digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"


def _json(document: object) -> bytes:
    return json.dumps(document).encode()
