"""Lists of what images and the plugin contain (SPDX 2.3, JSON), read from their files."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from images.builder.console import CONSOLE
from images.release import archive
from images.release.oci import PlatformImage
from images.release.plan import Plan

UNKNOWN = "NOASSERTION"
DOCUMENT = "SPDXRef-DOCUMENT"


@dataclass(frozen=True, order=True)
class Package:
    """A package of others."""

    name: str
    version: str
    url: str = ""
    """Its package URL (purl)."""

    licence: str = UNKNOWN
    """An SPDX expression."""


def of_dpkg(status: str) -> Iterator[Package]:
    """The packages of dpkg's status file."""
    for block in status.strip().split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version|Architecture): (.*)$", block, re.MULTILINE))
        name, version = fields["Package"], fields["Version"]
        purl = f"pkg:deb/debian/{name}@{version}?arch={fields['Architecture']}"
        yield Package(name, version, purl)


def of_metadata(metadata: str) -> Package:
    """The Python package of a METADATA file."""
    fields = HeaderParser().parsestr(metadata)
    name, version = fields["Name"], fields["Version"]
    purl = f"pkg:pypi/{re.sub('[-_.]+', '-', name).lower()}@{version}"
    return Package(name, version, purl, fields["License-Expression"] or UNKNOWN)


def of_npm(lock: Path = CONSOLE / "package-lock.json") -> Iterator[Package]:
    """The packages that are bundled into the live page, from npm's lock."""
    for path, entry in json.loads(lock.read_text())["packages"].items():
        if path and not entry.get("dev"):
            name = path.rpartition("node_modules/")[2]
            purl = f"pkg:npm/{name.replace('@', '%40')}@{entry['version']}"
            yield Package(name, entry["version"], purl, entry.get("license", UNKNOWN))


def of_files(files: Iterable[tuple[str, bytes]]) -> Iterator[Package]:
    """The packages that files belong to, by their paths and contents."""
    for path, content in files:
        if path == "var/lib/dpkg/status":
            yield from of_dpkg(content.decode())
        elif path.endswith(".dist-info/METADATA"):
            yield of_metadata(content.decode())
        elif found := re.fullmatch(r"opt/partisan/lib/(\w+)-([\d.]+)/ebin/\1\.app", path):
            yield Package(found[1], found[2])


def of_image(image: PlatformImage) -> Iterator[Package]:
    """The packages in an image's layers."""
    for layer in image.layers:
        yield from of_files(
            (archive.plain(e.name), content) for e, content in archive.members(layer)
        )


def document(plan: Plan, name: str, packages: Iterable[Package]) -> str:
    """The list of what `name` contains; the same packages give the same bytes."""
    contained = sorted(set(packages))
    digest = hashlib.sha256(repr(contained).encode()).hexdigest()
    root = _package("SPDXRef-Root", Package(name, plan.version, licence="Apache-2.0"))
    parts = [_package(f"SPDXRef-Package-{n}", p) for n, p in enumerate(contained, start=1)]
    relationships = [_related(DOCUMENT, "DESCRIBES", root["SPDXID"])]
    relationships += [_related(root["SPDXID"], "CONTAINS", part["SPDXID"]) for part in parts]
    return json.dumps(
        {
            "spdxVersion": "SPDX-2.3",
            "dataLicense": "CC0-1.0",
            "SPDXID": DOCUMENT,
            "name": f"{name}-{plan.version}",
            "documentNamespace": f"{plan.downloads}/{name}-{plan.version}-{digest[:16]}",
            "creationInfo": {"created": plan.created, "creators": ["Tool: images.release"]},
            "packages": [root, *parts],
            "relationships": relationships,
        },
        indent=1,
    )


def _package(identifier: str, package: Package) -> dict[str, Any]:
    purl = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl"}
    return {
        "SPDXID": identifier,
        "name": package.name,
        "versionInfo": package.version,
        "downloadLocation": UNKNOWN,
        "filesAnalyzed": False,
        "licenseConcluded": UNKNOWN,
        "licenseDeclared": package.licence,
        "copyrightText": UNKNOWN,
        **({"externalRefs": [{**purl, "referenceLocator": package.url}]} if package.url else {}),
    }


def _related(one: str, relation: str, other: str) -> dict[str, str]:
    return {"spdxElementId": one, "relationshipType": relation, "relatedSpdxElement": other}
