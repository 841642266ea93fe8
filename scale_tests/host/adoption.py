"""`build/results/adoption.json`: what an adopter of the project meets, as it was measured.

| part | written by | holds |
|---|---|---|
| `release` | `python -m images.release` | seconds of each step of a build, digests of the files |
| `path` | `scale_tests/e2e/test_release.py` | seconds of each step of a new user's path |
| `words` | the same | words of the README, the pages and the evaluation |

The seconds of the path are without those of builds of images.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scale_tests.host import files
from scale_tests.host.commands import ROOT

RESULTS = ROOT / "build" / "results" / "adoption.json"


@contextmanager
def updated(path: Path = RESULTS) -> Iterator[dict[str, Any]]:
    """The results, to be changed in the block and written at its end; an error leaves them.

    Other processes wait meanwhile, so that no writer loses the parts of another.
    """
    with files.locked(path.with_suffix(".lock")):
        results = json.loads(path.read_text()) if path.exists() else {}
        yield results
        files.replace(path, json.dumps(results, indent=2) + "\n")
