"""OCI archives with an image for each of several platforms, as `skopeo copy --all` pushes them."""

import hashlib
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from images.release import archive
from images.release.version import ReleaseError
from scale_tests.localkube.ociarchive import REF_NAME

Json = dict[str, Any]

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
EPOCH = "1970-01-01T00:00:00Z"


@dataclass(frozen=True)
class PlatformImage:
    """An image for one platform."""

    config: Json
    """The image's configuration; its platform and the digests of its layers are in it."""

    layers: tuple[bytes, ...]
    """Uncompressed tars, the lowest first."""

    @property
    def architecture(self) -> str:
        """Such as `amd64`."""
        return str(self.config["architecture"])


@dataclass(frozen=True)
class Blob:
    """Content of a type."""

    media_type: str
    content: bytes

    @property
    def digest(self) -> str:
        """`sha256:...`."""
        return digest(self.content)

    def descriptor(self, **further: object) -> Json:
        """How other documents refer to it."""
        size = len(self.content)
        return {"mediaType": self.media_type, "digest": self.digest, "size": size, **further}


def digest(content: bytes) -> str:
    """The digest of content: `sha256:...`."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def document(media_type: str, value: Json) -> Blob:
    """A JSON document; equal values are equal bytes."""
    return Blob(media_type, json.dumps(value, sort_keys=True, separators=(",", ":")).encode())


def read(path: Path) -> list[PlatformImage]:
    """The images of an archive of one name. Raises ReleaseError: it is damaged."""
    blobs = _Blobs(path)
    return [blobs.image(manifest) for manifest in blobs.manifests()]


def write(path: Path, name: str, images: Sequence[PlatformImage], labels: Mapping[str, str]) -> str:
    """Writes images of several platforms as one archive; returns the digest of their index."""
    blobs: list[Blob] = []
    manifests = []
    for image in images:
        layers = [Blob(LAYER, archive.compressed(layer)) for layer in image.layers]
        config = document(CONFIG, _plain_config(image, labels))
        manifest = _manifest(config, layers)
        known = ("os", "architecture", "variant")
        platform = {name: image.config[name] for name in known if name in image.config}
        manifests.append(manifest.descriptor(platform=platform))
        blobs += [*layers, config, manifest]
    index = document(INDEX, {"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests})
    write_layout(path, name, index, blobs)
    return index.digest


def write_artifact(path: Path, name: str, config: Blob, layers: Sequence[Blob]) -> str:
    """Writes what is no image, such as a chart, as an archive; returns its manifest's digest."""
    manifest = _manifest(config, layers)
    write_layout(path, name, manifest, [config, *layers])
    return manifest.digest


def write_layout(path: Path, name: str, top: Blob, blobs: Sequence[Blob]) -> None:
    """Writes an archive whose index names one document, `top`, over further blobs."""
    entry = top.descriptor(annotations={REF_NAME: name})
    files = {
        f"blobs/sha256/{blob.digest.partition(':')[2]}": blob.content for blob in (*blobs, top)
    }
    files["oci-layout"] = json.dumps({"imageLayoutVersion": "1.0.0"}).encode()
    files["index.json"] = document(INDEX, {"schemaVersion": 2, "manifests": [entry]}).content
    path.write_bytes(archive.tar(files))


def _manifest(config: Blob, layers: Sequence[Blob]) -> Blob:
    return document(
        MANIFEST,
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": config.descriptor(),
            "layers": [layer.descriptor() for layer in layers],
        },
    )


def _plain_config(image: PlatformImage, labels: Mapping[str, str]) -> Json:
    """The configuration without times and names of the machine that has built it."""
    steps = image.config.get("history", [])
    kept = ("created_by", "empty_layer")
    history = [{"created": EPOCH, **{k: step[k] for k in kept if k in step}} for step in steps]
    return {
        **image.config,
        "created": EPOCH,
        "config": {**image.config["config"], "Labels": dict(labels)},
        "history": history,
        "rootfs": {"type": "layers", "diff_ids": [digest(layer) for layer in image.layers]},
    }


class _Blobs:
    """The blobs of an archive, each checked when it is read. Raises ReleaseError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with tarfile.open(path) as source:
            self._files = {
                archive.plain(entry.name): content.read()
                for entry in source
                if (content := source.extractfile(entry))
            }

    def manifests(self) -> list[Json]:
        """The manifests, of which an index in the index may have several."""
        found = []
        for entry in json.loads(self._files["index.json"])["manifests"]:
            value = json.loads(self._read(entry))
            if entry["mediaType"] == INDEX:
                found += [json.loads(self._read(each)) for each in value["manifests"]]
            else:
                found.append(value)
        return found

    def image(self, manifest: Json) -> PlatformImage:
        """The image of a manifest."""
        config = json.loads(self._read(manifest["config"]))
        layers = tuple(archive.uncompressed(self._read(layer)) for layer in manifest["layers"])
        if config["rootfs"]["diff_ids"] != [digest(layer) for layer in layers]:
            raise ReleaseError(f"{self._path}: the layers are not those of the configuration")
        return PlatformImage(config, layers)

    def _read(self, descriptor: Json) -> bytes:
        algorithm, _, name = descriptor["digest"].partition(":")
        content = self._files.get(f"blobs/{algorithm}/{name}", b"")
        if (digest(content), len(content)) != (descriptor["digest"], descriptor["size"]):
            raise ReleaseError(f"{self._path}: {descriptor['digest']} is missing or damaged")
        return content
