"""The plan of a release: its version, where its parts will be found, and its files."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from scale_tests.host.commands import ROOT

ARCHITECTURES = ("amd64", "arm64")
SUMS = "SHA256SUMS"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A release: its version, and where its parts will be found."""

    version: str
    registry: str = "registry.example.com/partisan"
    """Where images, chart and bundle will be pushed; manifests and the chart's values name it."""

    downloads: str = "https://example.com/partisan/releases"
    """The address below which the files will be; the plugin's manifest names it."""

    revision: str = ""
    """The git revision."""

    created: str = "1970-01-01T00:00:00Z"
    """The time of that revision: the only time in the files."""

    directory: Path = Path()
    """Where the files are written."""

    @property
    def labels(self) -> dict[str, str]:
        """The labels of its images."""
        known = {
            "org.opencontainers.image.version": self.version,
            "org.opencontainers.image.revision": self.revision,
            "org.opencontainers.image.licenses": "Apache-2.0",
        }
        return {key: value for key, value in known.items() if value}

    def image(self, name: str) -> str:
        """The reference of an image."""
        return f"{self.registry}/{name}:{self.version}"

    def file(self, name: str) -> Path:
        """The path of one of its files, whose directory exists then."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def default_directory(version: str) -> Path:
    """Where the files of a version are."""
    return ROOT / "build" / "release" / version


def digests(directory: Path) -> dict[str, str]:
    """The SHA-256 of all files of a release, by their paths in its directory."""
    files = sorted(path for path in directory.rglob("*") if path.is_file() and path.name != SUMS)
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def write_sums(directory: Path) -> dict[str, str]:
    """Writes the checksums as `sha256sum --check` reads them; returns them."""
    found = digests(directory)
    (directory / SUMS).write_text("".join(f"{digest}  {path}\n" for path, digest in found.items()))
    return found
