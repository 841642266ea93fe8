"""The command line: `python -m scale_tests.images build | push REGISTRY`."""

from __future__ import annotations

import argparse
import sys

from scale_tests.images.build import build, push
from scale_tests.images.catalogue import IMAGES
from scale_tests.images.tools import ImageError


def main() -> int:
    """Runs one command and returns the exit status."""
    names = [image.name for image in IMAGES]
    parser = argparse.ArgumentParser(prog="python -m scale_tests.images", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    command = commands.add_parser("build", help="build what has changed, as OCI archives")
    command.add_argument("image", nargs="*", choices=[*names, []], help="all of them if none")
    command = commands.add_parser("push", help="push the built images")
    command.add_argument("registry", help="where to, such as registry.example.org/team")
    options = parser.parse_args()
    try:
        if options.command == "build":
            for image in IMAGES:
                if not options.image or image.name in options.image:
                    build(image)
        else:
            for image in IMAGES:
                print(f"pushed {push(image, options.registry)}", flush=True)
    except ImageError as error:
        print(f"images: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
