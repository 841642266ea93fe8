"""The command line: `python -m images.release build|check|push|version VERSION`."""

import argparse
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from images.release import version
from images.release.build import build
from images.release.plan import Plan, default_directory, digests
from images.release.version import ReleaseError
from scale_tests.host import adoption
from scale_tests.host.commands import CommandError, ExpectedError, capture, relative
from scale_tests.localkube.ociarchive import images


def plan(options: argparse.Namespace) -> Plan:
    """The release that was asked for. Raises ReleaseError: this checkout has another version."""
    own = version.version()
    if options.version != own:
        raise ReleaseError(
            f"VERSION is {options.version}, and this checkout is {own}: write the next version "
            "with `make version VERSION=...`, and commit it"
        )
    chosen = {
        name: value for name in ("registry", "downloads") if (value := getattr(options, name))
    }
    revision, created = _revision()
    return Plan(
        version=own,
        revision=revision,
        created=created,
        directory=default_directory(own),
        **chosen,
    )


def check(wanted: Plan) -> dict[str, float]:
    """Builds a release a second time and compares it with the first.

    Returns seconds by step. Raises ReleaseError with the files that differ.
    """
    if not wanted.directory.exists():
        raise ReleaseError(f"{relative(wanted.directory)} is missing: make release")
    again = replace(wanted, directory=wanted.directory.with_name(f"{wanted.version}.again"))
    seconds = build(again, anew=True)
    first, second = digests(wanted.directory), digests(again.directory)
    if different := different_files(first, second):
        raise ReleaseError(
            f"{relative(wanted.directory)} and {again.directory.name} differ in "
            f"{', '.join(different)}"
        )
    return seconds


def push(wanted: Plan) -> None:
    """Pushes the archives of a release, byte for byte. Raises ReleaseError, ExpectedError."""
    archives = sorted(wanted.directory.glob("*.oci.tar"))
    if not archives:
        raise ReleaseError(f"{relative(wanted.directory)} has no archives: make release")
    for path in archives:
        ((name, digest),) = images(path).items()
        if not name.startswith(f"{wanted.registry}/"):
            raise ReleaseError(f"{path.name} was built as {name}: give the same REGISTRY")
        copy = ("skopeo", "copy", "--quiet", "--all", "--preserve-digests")
        capture([*copy, f"oci-archive:{path}", f"docker://{name}"])
        print(f"pushed {name}@{digest}", flush=True)


def different_files(first: Mapping[str, str], second: Mapping[str, str]) -> list[str]:
    """The files whose digests differ, or that only one of two releases has."""
    names = sorted({*first, *second})
    return [name for name in names if first.get(name) != second.get(name)]


def record(wanted: Plan, step: str, seconds: Mapping[str, float]) -> dict[str, str]:
    """Adds a run's times and digests to the results, next to those of others.

    Returns the digests.
    """
    with adoption.updated() as results:
        release = results.setdefault("release", {})
        release |= {"version": wanted.version, "revision": wanted.revision}
        release.setdefault("seconds", {})[step] = dict(seconds)
        release["digests"] = found = digests(wanted.directory)
        if step == "check":
            release["equal"] = True
    return found


def main() -> int:
    """Runs one command and returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m images.release", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in {
        "build": "build all files of a release into build/release/VERSION",
        "check": "build them again, and compare the digests",
        "push": "push images, chart and bundle",
    }.items():
        command = commands.add_parser(name, help=text)
        command.add_argument("version", help="this checkout's version, such as 1.2.3")
        command.add_argument("--registry", help="where images and chart will be pushed")
        command.add_argument("--downloads", help="the address below which the files will be")
    command = commands.add_parser("version", help="write the next version to all places")
    command.add_argument("version", help="such as 1.2.3")
    options = parser.parse_args()
    try:
        if options.command == "version":
            version.write(options.version)
            print(f"version {options.version}: commit it, with its changes in CHANGELOG.md")
            return 0
        wanted = plan(options)
        if options.command == "push":
            push(wanted)
            return 0
        seconds = build(wanted) if options.command == "build" else check(wanted)
        recorded = record(wanted, options.command, seconds)
        print(f"{relative(wanted.directory)}: {len(recorded)} files", flush=True)
    except ExpectedError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


def _revision() -> tuple[str, str]:
    """The revision of this checkout (`-dirty` with changed files) and its time, if git knows it."""
    try:
        commit, seconds = capture(["git", "log", "-1", "--format=%H %ct"]).split()
        if capture(["git", "status", "--porcelain", "--untracked-files=no"]):
            commit += "-dirty"
    except (CommandError, ValueError):
        return "", Plan.created
    return commit, datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


if __name__ == "__main__":
    sys.exit(main())
