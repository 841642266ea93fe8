"""Installs the dependencies of the Makefile's targets: `python3 -m scale_tests.bootstrap [site]`.

On Debian as root it names and installs the missing packages of `.ci/apt-packages.txt`; on any other
system it names them and stops. Then it creates the virtual environment `.venv` from
`requirements.txt`, and with `site` the one in which the documentation's site is built. With nothing
to do it takes a fraction of a second. Standard library only.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE_LIST = ROOT / ".ci" / "apt-packages.txt"

MINIMUM_PYTHON = (3, 11)

PROGRAMS = {"go": "Go 1.26 or newer (https://go.dev/doc/install)", "git": "git"}
"""Programs that no package of the list brings, with what to install."""

FOREIGN_PROGRAMS = {
    "erl": "Erlang/OTP 25 or newer",
    "rebar3": "rebar3",
    "openssl": "openssl",
    "npm": "Node.js 18 or newer with npm",
    "buildah": "buildah",
    "skopeo": "skopeo",
    "chromium": "chromium",
}
"""Programs to look for on a system without Debian's packages, with the packages that have them."""


class BootstrapError(Exception):
    """A missing program cannot be installed from here; the message names it."""


DEBIANS_OR_OTHERS = {"nodejs": "node", "npm": "npm"}
"""Packages that are not needed if their program came from elsewhere."""


def parse_packages(text: str) -> list[str]:
    """The packages that the text of a package list names: one a line, with `#` for comments."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def not_installed(packages: list[str], dpkg_query: str) -> list[str]:
    """Packages of `packages` that are not installed.

    `dpkg_query` has a line `PACKAGE STATUS` for each package that dpkg knows of.
    """
    installed = {
        line.split()[0].partition(":")[0]
        for line in dpkg_query.splitlines()
        if line.endswith(" installed")
    }
    return [package for package in packages if package not in installed]


def ensure_packages() -> None:
    """Installs the system packages that are missing.

    Raises:
        BootstrapError: they cannot be installed here; the message names them.
    """
    if absent := _absent(PROGRAMS):
        raise BootstrapError(f"missing: {absent}")
    if shutil.which("apt-get") is None or shutil.which("dpkg-query") is None:
        if absent := _absent(FOREIGN_PROGRAMS):
            raise BootstrapError(
                f"missing: {absent}\nThey are installed by themselves only on Debian."
            )
        return
    packages = [
        package
        for package in parse_packages(PACKAGE_LIST.read_text())
        if not shutil.which(DEBIANS_OR_OTHERS.get(package, ""))
    ]
    known = subprocess.run(
        ["dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\\n", *packages],
        capture_output=True,  # a package that dpkg has never seen is no error here
        text=True,
        check=False,
    )
    missing = not_installed(packages, known.stdout)
    if not missing:
        return
    if os.geteuid() != 0:
        raise BootstrapError(
            f"missing packages: {' '.join(missing)}\n"
            f"install them: sudo apt-get install --no-install-recommends {' '.join(missing)}"
        )
    print(f"Installing Debian packages (takes some minutes): {' '.join(missing)}", flush=True)
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *missing]):
        _run(["apt-get", "--quiet=2", *command])


def ensure_environment(environment: Path, requirements: Path) -> None:
    """Creates a virtual environment, or updates it to its requirements.

    Raises:
        BootstrapError: this Python is too old, or a requirement cannot be installed.
    """
    if sys.version_info[:2] < MINIMUM_PYTHON:
        raise BootstrapError(f"Python 3.11 or newer is needed, this is {sys.version.split()[0]}")
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    stamp = environment / ".requirements-digest"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    print(
        f"Installing Python packages into {environment.relative_to(ROOT)} (about a minute)",
        flush=True,
    )
    python = environment / "bin" / "python"
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(environment)])
    pip = [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "install", "--require-hashes", "-r", str(requirements)])
    stamp.write_text(wanted)


def _absent(programs: dict[str, str]) -> str:
    return ", ".join(text for program, text in programs.items() if shutil.which(program) is None)


def _run(argv: list[str]) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(
        argv, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, text=True, check=False
    )
    if done.returncode != 0:
        raise BootstrapError(f"`{' '.join(argv[:6])} ...` failed, its output is above")


def main(arguments: list[str]) -> int:
    """Installs what is missing and returns the exit status."""
    try:
        ensure_packages()
        ensure_environment(ROOT / ".venv", ROOT / "requirements.txt")
        if arguments == ["site"]:
            requirements = ROOT / "docs" / "tools" / "requirements.txt"
            ensure_environment(ROOT / "build" / "site-environment", requirements)
    except BootstrapError as error:
        print(f"bootstrap: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
