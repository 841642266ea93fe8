"""The command line: `python -m scale_tests.images build [IMAGE...] | push REGISTRY [IMAGE...]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable

from scale_tests.images.build import build, push
from scale_tests.images.catalogue import EXAMPLES, IMAGES
from scale_tests.images.tools import ImageError


def add_names(command: argparse.ArgumentParser, known: Iterable[str]) -> None:
    """Lets a command be given names of images."""
    # Without the empty list argparse finds fault with no name at all.
    choices = [*known, []]
    command.add_argument(
        "image", nargs="*", choices=choices, help="all but those of examples if none"
    )


def main() -> int:
    """Runs one command and returns the exit status."""
    known = {image.name: image for image in (*IMAGES, *EXAMPLES)}
    ours = [image.name for image in IMAGES]
    parser = argparse.ArgumentParser(prog="python -m scale_tests.images", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    command = commands.add_parser("build", help="build what has changed, as OCI archives")
    add_names(command, known)
    command = commands.add_parser("push", help="push the built images")
    command.add_argument("registry", help="where to, such as registry.example.org/team")
    add_names(command, known)
    options = parser.parse_args()
    try:
        for name in options.image or ours:
            if options.command == "build":
                build(known[name])
            else:
                print(f"pushed {push(known[name], options.registry)}", flush=True)
    except ImageError as error:
        print(f"images: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
