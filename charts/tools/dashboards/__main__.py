"""`python -m charts.tools.dashboards [--check]`: writes the dashboards, or only compares.

Either way the status is 1 when the committed files differ: no dashboard is changed by hand.
"""

import argparse
import sys
from collections.abc import Sequence

from charts.tools.dashboards.boards import NAMES, build
from charts.tools.dashboards.files import DIRECTORY, as_json
from scale_tests.host.commands import relative


def main(arguments: Sequence[str]) -> int:
    """Writes or compares; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m charts.tools.dashboards", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    check = parser.parse_args(arguments).check
    differs = 0
    for name in NAMES:
        path, text = DIRECTORY / f"{name}.json", as_json(build(name))
        if path.exists() and path.read_text() == text:
            continue
        differs = 1
        if not check:
            DIRECTORY.mkdir(exist_ok=True)
            path.write_text(text)
        advice = "differs: make dashboards" if check else "is new: commit it"
        print(f"dashboards: {relative(path)} {advice}", file=sys.stderr)
    return differs


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
