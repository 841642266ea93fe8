"""Images for arm64, assembled on a machine that cannot run their programs.

An image has the base of its architecture, whose packages are unpacked without running their
scripts, and the layers that were built here, in which arm64's machine code replaces this machine's:
for the operator from the locked wheels, for the node from Debian's packages. Everything else in
these layers (Python, its byte code, BEAM files, scripts) is the same for all architectures.
"""

import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from images.builder import bases, wheels
from images.builder.catalogue import ERLANG_NODE, OPERATOR, Base, Image
from images.release import archive, elf
from images.release.oci import PlatformImage
from images.release.version import ReleaseError

ARCHITECTURE = "arm64"

SITE_PACKAGES = f"opt/operator/lib/python{wheels.PYTHON_VERSION}/site-packages"
"""Where the operator's image has its packages."""

RELEASE, SYSTEM = "opt/partisan/lib", "usr/lib/erlang/lib"
"""Where the node's image, and Debian's Erlang, have their applications."""

UNUSED = "opt/partisan/erts-"
"""relx copies the builder's emulator here; the start script runs that of the base image."""


def assemble(image: Image, built: PlatformImage) -> PlatformImage:
    """An image for arm64, from the one that was built here. Raises ExpectedError, ReleaseError."""
    if built.architecture != "amd64":
        raise ReleaseError(f"releases are built on amd64, and this machine is {built.architecture}")
    assert isinstance(image.base, Base)
    base = bases.ensure_root_file_system(foreign(image.base)).read_bytes()
    layers = [translated(layer, MACHINE_CODE[image.name]) for layer in built.layers[1:]]
    config = {**built.config, "architecture": ARCHITECTURE}
    return PlatformImage({**config, "variant": "v8"}, (base, *layers))


def foreign(base: Base) -> Base:
    """A base image's counterpart for arm64."""
    return replace(base, name=f"{base.name}-{ARCHITECTURE}", architecture=ARCHITECTURE)


def translated(layer: bytes, machine_code: Callable[[], Mapping[str, bytes]]) -> bytes:
    """A layer with arm64's machine code; `machine_code` has the files, by their paths in the image.

    Raises ReleaseError: a file with machine code has no counterpart.
    """
    own = [
        archive.plain(entry.name)
        for entry, content in archive.members(layer)
        if elf.is_elf(content)
    ]
    if not own:
        return layer
    files = machine_code()
    used = {_module(path) for path in own if not path.startswith(UNUSED)}
    if missing := used - {_module(path) for path in files}:
        raise ReleaseError(f"no {ARCHITECTURE} counterpart of {', '.join(sorted(missing))}")
    return archive.replaced(layer, files, leave_out=own)


def of_wheels() -> dict[str, bytes]:
    """All files of the operator's wheels for arm64, by their paths in the image."""
    directory = wheels.ensure_wheels(wheels.ARM64)
    return {
        f"{SITE_PACKAGES}/{path}": content
        for wheel in sorted(directory.glob("*.whl"))
        if not wheel.name.endswith("-none-any.whl")
        for path, content in wheel_files(wheel).items()
    }


def of_erlang() -> dict[str, bytes]:
    """The machine code of Erlang's applications for arm64, by its paths in the node's image."""
    assert isinstance(ERLANG_NODE.base, Base)
    packages = (*ERLANG_NODE.base.packages, "erlang-asn1")
    donor = replace(
        ERLANG_NODE.base, name=f"{ERLANG_NODE.base.name}-applications", packages=packages
    )
    content = bases.ensure_root_file_system(foreign(donor)).read_bytes()
    return {
        f"{RELEASE}{path.removeprefix(SYSTEM)}": content
        for entry, content in archive.members(content)
        if (path := archive.plain(entry.name)).startswith(f"{SYSTEM}/") and elf.is_elf(content)
    }


MACHINE_CODE = {OPERATOR.name: of_wheels, ERLANG_NODE.name: of_erlang}
"""Where the machine code of an image's own layers comes from."""


def wheel_files(wheel: Path) -> dict[str, bytes]:
    """The files of a wheel, by their paths."""
    with zipfile.ZipFile(wheel) as source:
        return {name: source.read(name) for name in source.namelist() if not name.endswith("/")}


def _module(path: str) -> str:
    """A path without the architecture that extension modules have in their names."""
    return path.replace("x86_64", "*").replace("aarch64", "*")
