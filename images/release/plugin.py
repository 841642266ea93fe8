"""kubectl's plugin as one archive per platform, and the manifest by which krew installs it.

An archive holds two programs and `lib/` with everything they import, for each supported version of
Python: extension modules have the version in their names, so that one directory serves all. It is
unpacked rather than one file that is run, because Python loads no machine code from a zip.
"""

import hashlib
import platform
import re
import tarfile
import tempfile
from dataclasses import dataclass

import yaml

from images.builder import wheels
from images.builder.wheels import Target
from images.release import archive, sbom
from images.release.arm64 import wheel_files
from images.release.plan import Plan
from images.release.version import ReleaseError
from scale_tests.host.commands import ROOT, capture

PACKAGES = (
    "annotated-types",
    "pydantic",
    "pydantic-core",
    "pyyaml",
    "typing-extensions",
    "typing-inspection",
)
"""The packages of the operator's lock that the plugin imports."""

PYTHONS = ("3.11", "3.12", "3.13", "3.14")

SOURCES = ROOT / "operator" / "src"

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
"""kubectl's names of processors, by the kernel's."""

_LINUX = ("manylinux2014", "manylinux_2_17", "manylinux_2_28")


@dataclass(frozen=True)
class Platform:
    """A platform that the plugin runs on, by kubectl's names."""

    system: str
    architecture: str
    wheels: tuple[str, ...]
    """The platform in names of wheels."""

    def archive(self, version: str) -> str:
        """The name of its archive."""
        return f"kubectl-partisan-{version}-{self.system}-{self.architecture}.tar.gz"

    def targets(self) -> list[Target]:
        """The Pythons of the platform."""
        return [
            Target(
                name=f"plugin-{self.system}-{self.architecture}-{python}",
                python=python,
                platforms=self.wheels,
                packages=PACKAGES,
            )
            for python in PYTHONS
        ]


PLATFORMS = (
    Platform("linux", "amd64", tuple(f"{glibc}_x86_64" for glibc in _LINUX)),
    Platform("linux", "arm64", tuple(f"{glibc}_aarch64" for glibc in _LINUX)),
    Platform("darwin", "amd64", ("macosx_12_0_x86_64",)),
    Platform("darwin", "arm64", ("macosx_12_0_arm64",)),
)

LAUNCHER = """\
#!/bin/sh
# Runs kubectl's plugin with the first Python on the PATH that it supports.
set -eu
self=$0
while [ -L "$self" ]; do
    target=$(readlink "$self")
    case $target in /*) self=$target ;; *) self=${{self%/*}}/$target ;; esac
done
supported='import sys; sys.exit(not {oldest} <= sys.version_info[:2] <= {newest})'
for python in python3 {pythons}; do
    if "$python" -c "$supported" 2> /dev/null; then
        exec "$python" -I "${{self%/*}}/lib" {command} "$@"
    fi
done
echo "kubectl partisan: Python {first} to {last} is needed, and none is on the PATH" >&2
exit 1
"""
"""Isolated (-I): neither the current directory nor the environment chooses what is imported."""

MAIN = '''\
"""Runs kubectl's plugin, or its completion, as the launchers ask."""

import sys

command = sys.argv.pop(1)
if command == "complete":
    from partisan_operator.cli.completion import main
else:
    from partisan_operator.cli.main import main
sys.exit(main())
'''

_ABOUT_ONE_WHEEL = re.compile(r"\.dist-info/(RECORD|WHEEL|sboms/.*)$")
"""Its tags, its list of files, what was compiled into it."""

PROGRAMS = {"kubectl-partisan": "run", "kubectl_complete-partisan": "complete"}
"""The programs, with what they ask of `lib`."""


def launcher(command: str) -> bytes:
    """The program that runs a command of `lib`."""
    oldest, newest = (tuple(map(int, version.split("."))) for version in (PYTHONS[0], PYTHONS[-1]))
    return LAUNCHER.format(
        pythons=" ".join(f"python{version}" for version in reversed(PYTHONS)),
        oldest=oldest,
        newest=newest,
        command=command,
        first=PYTHONS[0],
        last=PYTHONS[-1],
    ).encode()


def own_files() -> dict[str, bytes]:
    """The programs, and the operator's package, by their paths in the archive."""
    package = {
        f"lib/{path.relative_to(SOURCES)}": path.read_bytes()
        for path in sorted(SOURCES.rglob("*.py"))
    }
    programs = {name: launcher(command) for name, command in PROGRAMS.items()}
    licence = {"LICENSE": (ROOT / "LICENSE").read_bytes()}
    return {**programs, **licence, **package, "lib/__main__.py": MAIN.encode()}


def merged(parts: list[dict[str, bytes]]) -> dict[str, bytes]:
    """The files of wheels for several Pythons in one directory.

    Raises ReleaseError: two of them have the same file with different contents.
    """
    found: dict[str, bytes] = {}
    for part in parts:
        for path, content in part.items():
            if _ABOUT_ONE_WHEEL.search(path):
                continue
            if found.setdefault(path, content) != content:
                raise ReleaseError(f"wheels of several Pythons differ in {path}")
    return found


def build(plan: Plan) -> None:
    """Writes the archives, krew's manifest and a list of contents.

    Raises ExpectedError, ReleaseError.
    """
    digests = {}
    for each in PLATFORMS:
        found = [wheels.ensure_wheels(target) for target in each.targets()]
        parts = [
            wheel_files(path) for wheelhouse in found for path in sorted(wheelhouse.glob("*.whl"))
        ]
        content = {f"lib/{path}": file for path, file in merged(parts).items()} | own_files()
        packed = archive.compressed(archive.tar(content, executable=PROGRAMS))
        plan.file(each.archive(plan.version)).write_bytes(packed)
        digests[each] = hashlib.sha256(packed).hexdigest()
    # The same packages for every platform: those of the last one.
    contents = sbom.document(plan, "kubectl-partisan", sbom.of_files(content.items()))
    plan.file("sbom/kubectl-partisan.spdx.json").write_text(contents)
    check_runs(plan)
    plan.file("krew/partisan.yaml").write_text(
        yaml.safe_dump(krew_manifest(plan, digests), sort_keys=False, width=100)
    )


def check_runs(plan: Plan) -> None:
    """Runs the plugin from this machine's archive. Raises ReleaseError, CommandError."""
    architecture = ARCHITECTURES[platform.machine()]
    (own,) = (
        each for each in PLATFORMS if (each.system, each.architecture) == ("linux", architecture)
    )
    with tempfile.TemporaryDirectory() as directory:
        with tarfile.open(plan.file(own.archive(plan.version))) as packed:
            packed.extractall(directory, filter="data")
        written = capture([f"{directory}/kubectl-partisan", "--version"]).strip()
    if written != f"kubectl partisan {plan.version}":
        raise ReleaseError(f"kubectl-partisan --version writes {written!r}")


def krew_manifest(plan: Plan, digests: dict[Platform, str]) -> dict[str, object]:
    """The manifest of krew, by the SHA-256 of each platform's archive."""
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "partisan"},
        "spec": {
            "version": f"v{plan.version}",
            "shortDescription": "Status, overlay and rollouts of PartisanClusters",
            "description": (
                "Shows errors of clusters of Erlang nodes with the next command, their overlay as\n"
                "a picture, live traffic, merged logs; changes overlays; follows and undoes\n"
                "rollouts.\n"
            ),
            "caveats": f"Python {PYTHONS[0]} to {PYTHONS[-1]} must be on the PATH.\n",
            "platforms": [
                {
                    "selector": {"matchLabels": {"os": each.system, "arch": each.architecture}},
                    "uri": f"{plan.downloads}/{each.archive(plan.version)}",
                    "sha256": digest,
                    "bin": "kubectl-partisan",
                }
                for each, digest in digests.items()
            ],
        },
    }
