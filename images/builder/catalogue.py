"""The images, their base images and their sources."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

from scale_tests.host.commands import ROOT

ARCHIVES = ROOT / "build" / "images"
"""Directory of the OCI archives."""

REPOSITORY = "localhost/partisan"
TAG = "dev"


@dataclass(frozen=True, kw_only=True)
class Base:
    """A stand-in for an official base image, made from Debian packages."""

    name: str
    packages: tuple[str, ...]
    suite: str = ""
    """The Debian release of the packages; empty for this machine's own."""

    architecture: str = ""
    """Debian's name of a processor that this machine has not, such as `arm64`; empty for its own.
    Its packages are unpacked, not installed: none of its programs can run here."""


@dataclass(frozen=True, kw_only=True)
class Image:
    """An image with a Dockerfile: one of `images/`, or of an example."""

    name: str
    base: "Base | Image"
    """The image that it extends: a base image, or another one of the catalogue."""

    builder: Base | None = None
    """The image that compiles its sources, if they are compiled."""

    sources: tuple[str, ...] = ()
    """Files and directories of the repository that the Dockerfile copies."""

    example: str = ""
    """Directory of a self-contained Dockerfile, in the repository or elsewhere: its context."""

    @property
    def bases(self) -> dict[str, "Base | Image"]:
        """The images that it is built from, by build argument."""
        built_on = {} if self.builder is None else {"BUILDER": self.builder}
        return {**built_on, "BASE" if isinstance(self.base, Base) else "NODE": self.base}

    @property
    def dockerfile(self) -> Path:
        """Its Dockerfile."""
        if self.example:
            return ROOT / self.example / "Dockerfile"
        return ROOT / "images" / f"{self.name}.Dockerfile"

    @property
    def reference(self) -> str:
        """The name of the image in pods."""
        return f"{REPOSITORY}/{self.name}:{TAG}"

    @property
    def archive(self) -> Path:
        """The archive that the build writes."""
        return ARCHIVES / f"{self.name}.tar"


IMAGE_OTP = "27"
"""The OTP release of the node's image, in the demo, end-to-end tests and benchmarks."""

OTP_SUITES = {IMAGE_OTP: "trixie", "29": "sid"}
"""OTP releases that this machine may lack, and the Debian release with each."""

_ERLANG = ("erlang-base", "erlang-crypto")
_PYTHON = ("python3", "libpython3-stdlib")


def erlang_builder(otp: str) -> Base:
    """The image that compiles and tests the runtime on an OTP release, with rebar3."""
    applications = (
        *("asn1", "common-test", "dev", "eunit", "inets", "parsetools", "proper", "proper-dev"),
        *("public-key", "runtime-tools", "ssl", "syntax-tools", "tools", "xmerl"),
    )
    return Base(
        name=f"erlang-{otp}-builder",
        packages=(*_ERLANG, *(f"erlang-{name}" for name in applications), "rebar3"),
        suite=OTP_SUITES[otp],
    )


_ERLANG_BUILDER = erlang_builder(IMAGE_OTP)

ERLANG_NODE = Image(
    name="erlang-node",
    builder=_ERLANG_BUILDER,
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
"""The images that every cluster needs."""

OWN_WORKLOAD = Image(
    name="own-workload",
    builder=_ERLANG_BUILDER,
    base=ERLANG_NODE,
    sources=("examples/own-workload/src",),
    example="examples/own-workload",
)


def own(directory: Path) -> Image:
    """The image of a workload in any directory with a Dockerfile like the example's.

    Raises ValueError without a Dockerfile, or if the name is not valid for an image, or taken.
    """
    directory = directory.resolve()
    if not (directory / "Dockerfile").exists():
        raise ValueError(f"{directory} has no Dockerfile")
    if not re.fullmatch(r"[a-z0-9]+([._-][a-z0-9]+)*", directory.name):
        raise ValueError(f"{directory.name} is no name for an image: lower case, digits and - only")
    if directory.name in {image.name for image in IMAGES}:
        raise ValueError(f"{directory} would replace the image {directory.name}: rename it")
    return replace(
        OWN_WORKLOAD, name=directory.name, sources=(str(directory),), example=str(directory)
    )


ELIXIR = Image(
    name="elixir",
    builder=replace(
        _ERLANG_BUILDER,
        name=f"elixir-{IMAGE_OTP}-builder",
        packages=(*_ERLANG_BUILDER.packages, "elixir"),
    ),
    base=ERLANG_NODE,
    sources=tuple(f"examples/elixir/{part}" for part in ("mix.exs", "config", "lib")),
    example="examples/elixir",
)

EXAMPLES = (OWN_WORKLOAD, ELIXIR)
"""Images of users, built only by name."""
