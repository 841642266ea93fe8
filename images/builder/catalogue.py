"""What the images and their base images are made of."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from scale_tests.host.commands import ROOT

ARCHIVES = ROOT / "build" / "images"
"""Where the OCI archives go."""

REPOSITORY = "localhost/partisan"
TAG = "dev"


@dataclass(frozen=True, kw_only=True)
class Base:
    """A stand-in for an official base image, made from Debian packages."""

    name: str
    packages: tuple[str, ...]
    suite: str = ""
    """The Debian release that they are taken from; empty for this machine's own."""


@dataclass(frozen=True, kw_only=True)
class Image:
    """An image that a Dockerfile describes: one of `images/`, or of an example."""

    name: str
    base: Base | Image
    """What it starts from: a base image, or an image of ours."""

    builder: Base | None = None
    """What it is built on, where something is built."""

    sources: tuple[str, ...] = ()
    """What the Dockerfile copies: files and directories of the repository."""

    example: str = ""
    """A directory with a Dockerfile that is built by itself: of the repository, or anywhere."""

    @property
    def bases(self) -> dict[str, Base | Image]:
        """The images that it is built from, by the build argument that names each."""
        built_on = {} if self.builder is None else {"BUILDER": self.builder}
        return {**built_on, "BASE" if isinstance(self.base, Base) else "NODE": self.base}

    @property
    def dockerfile(self) -> Path:
        """The file that says how it is built."""
        if self.example:
            return ROOT / self.example / "Dockerfile"
        return ROOT / "images" / f"{self.name}.Dockerfile"

    @property
    def context(self) -> Path:
        """The directory that the Dockerfile copies from."""
        return ROOT / self.example

    @property
    def reference(self) -> str:
        """The name under which pods ask for it."""
        return f"{REPOSITORY}/{self.name}:{TAG}"

    @property
    def archive(self) -> Path:
        """Where it is built to."""
        return ARCHIVES / f"{self.name}.tar"


IMAGE_OTP = "27"
"""The OTP release of the node's image, which demo, end-to-end tests and benchmarks run on."""

OTP_SUITES = {IMAGE_OTP: "trixie", "29": "sid"}
"""OTP releases that this machine need not have, each with the Debian release that has it."""

_ERLANG = ("erlang-base", "erlang-crypto")
_PYTHON = ("python3", "libpython3-stdlib")


def erlang_builder(otp: str) -> Base:
    """What compiles and tests the runtime on an OTP release: its applications, and rebar3."""
    applications = (
        *("asn1", "common-test", "dev", "eunit", "inets", "parsetools", "proper", "proper-dev"),
        *("public-key", "runtime-tools", "ssl", "syntax-tools", "tools", "xmerl"),
    )
    return Base(
        name=f"erlang-{otp}-builder",
        packages=(*_ERLANG, *(f"erlang-{name}" for name in applications), "rebar3"),
        suite=OTP_SUITES[otp],
    )


ERLANG_NODE = Image(
    name="erlang-node",
    builder=erlang_builder(IMAGE_OTP),
    base=Base(name=f"erlang-{IMAGE_OTP}", packages=_ERLANG, suite=OTP_SUITES[IMAGE_OTP]),
    sources=("erlang_node",),
)

OPERATOR = Image(
    name="operator",
    builder=Base(name="python-builder", packages=(*_PYTHON, "python3-venv")),
    base=Base(name="python", packages=_PYTHON),
    sources=("operator/requirements.txt", "operator/src", "build/wheels"),
)

PROMETHEUS = Image(
    name="prometheus",
    base=Base(name="debian", packages=("base-files",)),
    sources=("build/prometheus",),
)

IMAGES = (ERLANG_NODE, OPERATOR, PROMETHEUS)
"""What a cluster of ours needs."""

OWN_WORKLOAD = Image(
    name="own-workload",
    builder=ERLANG_NODE.builder,
    base=ERLANG_NODE,
    sources=("examples/own-workload/src",),
    example="examples/own-workload",
)


def own(directory: Path) -> Image:
    """The image of a workload in any directory with a Dockerfile like the example's.

    Raises ValueError: it has none, or a name that no image can have.
    """
    directory = directory.resolve()
    if not (directory / "Dockerfile").exists():
        raise ValueError(f"{directory} has no Dockerfile")
    if not re.fullmatch(r"[a-z0-9]+([._-][a-z0-9]+)*", directory.name):
        raise ValueError(f"{directory.name} is no name for an image: lower case, digits and - only")
    return replace(
        OWN_WORKLOAD, name=directory.name, sources=(str(directory),), example=str(directory)
    )


EXAMPLES = (OWN_WORKLOAD,)
"""What users would build, which is built when it is asked for by name."""
