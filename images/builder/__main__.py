"""The command line: `python -m images.builder build [IMAGE...] | push REGISTRY [IMAGE...] | page`.

An image is the name of one in the catalogue, or a directory with a Dockerfile like an example's.
"""

import argparse
import sys
from pathlib import Path

from images.builder import console
from images.builder.build import build, push
from images.builder.catalogue import EXAMPLES, IMAGES, Image, own
from scale_tests.host.commands import ExpectedError

KNOWN = {image.name: image for image in (*IMAGES, *EXAMPLES)}


def image(text: str) -> Image:
    """The image of an argument. Raises ArgumentTypeError."""
    if found := KNOWN.get(text):
        return found
    try:
        return own(Path(text).expanduser())
    except (ValueError, OSError, RuntimeError) as error:  # the last of an unknown user's ~NAME
        names = ", ".join(KNOWN)
        raise argparse.ArgumentTypeError(f"{error}, and is none of {names}") from None


def parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    parser = argparse.ArgumentParser(prog="python -m images.builder", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    built = commands.add_parser("build", help="build what has changed, as OCI archives")
    pushed = commands.add_parser("push", help="push the built images")
    pushed.add_argument("registry", help="where to, such as registry.example.org/team")
    images = f"{', '.join(KNOWN)}, or a directory; all but examples if none"
    for command in (built, pushed):
        command.add_argument("image", nargs="*", type=image, help=images)
    commands.add_parser("page", help="bundle the live page into the operator's package")
    return parser


def main() -> int:
    """Runs one command and returns the exit status."""
    options = parser().parse_args()
    try:
        if options.command == "page":
            console.ensure_page()
            return 0
        for chosen in options.image or IMAGES:
            if options.command == "build":
                build(chosen)
            else:
                print(f"pushed {push(chosen, options.registry)}", flush=True)
    except ExpectedError as error:
        print(f"images: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
