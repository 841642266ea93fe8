"""Another Erlang/OTP than this machine's: `python -m scale_tests.otp RELEASE COMMAND...`.

A release comes from the Debian packages that the node's image is built with, unpacked into `build`.
Its programs use the C library that came with them, so that they run on an older Debian, as any
user. What is compiled with it goes into a directory of its own.
"""

import argparse
import os
import sys
import tarfile
from pathlib import Path

from images.builder import bases
from images.builder.catalogue import IMAGE_OTP, OTP_SUITES, erlang_builder
from scale_tests.host import files
from scale_tests.host.commands import ROOT, ExpectedError, capture

RUNTIME = ROOT / "erlang_node"
"""Our own applications."""

ERLANG = Path("usr/lib/erlang")
_PARTS = ("lib", "usr/lib", "usr/bin/rebar3")
_ELF = b"\x7fELF"


def use(release: str = IMAGE_OTP) -> None:
    """Makes this process, and those it starts, find that release's programs first.

    Raises ExpectedError: it cannot be made; the message names the reason.
    """
    os.environ.update(environment(ensure(release), release))


def compile_runtime() -> None:
    """Compiles our applications on the image's release. Raises ExpectedError."""
    use()
    capture(["env", "-C", str(RUNTIME), "rebar3", "compile"])


def environment(root: Path, release: str) -> dict[str, str]:
    """The variables by which programs find a release that is unpacked in `root`."""
    found = [str(root / ERLANG / "bin"), str(root / "usr" / "bin")]
    others = [path for path in os.environ["PATH"].split(":") if path not in found]
    return {
        "PATH": ":".join([*found, *others]),
        # Byte code of a newer release is none for an older one.
        "REBAR_BASE_DIR": str(RUNTIME / "_build" / f"otp{release}"),
    }


def ensure(release: str) -> Path:
    """Unpacks a release unless it is there, and returns where.

    Raises ExpectedError: it cannot be made; the message names the reason.
    """
    base = erlang_builder(release)
    target = ROOT / "build" / "otp" / f"{release}-{bases.fingerprint(base)}"
    if not target.exists():
        archive = bases.ensure_root_file_system(base)
        with files.made(target) as partial, tarfile.open(archive) as tar:
            wanted = (each for each in tar if each.name.removeprefix("./").startswith(_PARTS))
            tar.extractall(partial, members=wanted, filter="tar")
            settle(partial, target)
    return target


def settle(root: Path, place: Path) -> None:
    """Makes the programs in `root` find one another once it is at `place`.

    They name their loader and their home by absolute paths. A library path that is searched for
    the libraries of libraries, too, is of the kind that `--force-rpath` writes.
    """
    for file in (root / ERLANG).rglob("bin/*"):
        if file.is_symlink() or not file.is_file():
            continue
        content = file.read_bytes()
        if content.startswith(_ELF):
            loader = Path(capture(["patchelf", "--print-interpreter", str(file)]).strip())
            real = (root / loader.relative_to("/")).resolve().relative_to(root.resolve())
            own = ["--set-interpreter", str(place / real), "--force-rpath"]
            capture(["patchelf", *own, "--set-rpath", str(place / real.parent), str(file)])
        elif content.startswith(b"#!/bin/sh"):
            home = f"/{ERLANG}".encode()
            file.write_bytes(content.replace(home, str(place / ERLANG).encode()))


def main() -> int:
    """Runs a command on a release; returns its status."""
    parser = argparse.ArgumentParser(prog="python -m scale_tests.otp", description=__doc__)
    parser.add_argument("release", choices=[*OTP_SUITES])
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what to run")
    options = parser.parse_args()
    try:
        use(options.release)
    except ExpectedError as error:
        print(f"otp: {error}", file=sys.stderr)
        return 1
    if options.command:
        os.execvp(options.command[0], options.command)
    return 0


if __name__ == "__main__":
    sys.exit(main())
