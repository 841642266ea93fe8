"""The length of the documents, in words."""

import re
from pathlib import Path

from docs.tools.snippets import PAGES
from scale_tests.host.commands import ROOT

README = Path("README.md")
EVALUATION = Path("docs/evaluation")
"""Pages of measurements, which have a limit of their own."""


def without_code(document: Path) -> str:
    """A document without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", (ROOT / document).read_text(), flags=re.DOTALL | re.M)


def prose(document: Path) -> int:
    """The number of a document's words outside of code and tables."""
    return len(re.sub(r"^\|.*$", "", without_code(document), flags=re.M).split())


def counted() -> dict[str, int]:
    """Words of the README with its tables, and of the prose of the pages and the evaluation."""
    pages = [page for page in PAGES if page.is_relative_to("docs")]
    measured = [page for page in pages if page.is_relative_to(EVALUATION)]
    return {
        "readme": len(without_code(README).split()),
        "pages": sum(prose(page) for page in pages if page not in measured),
        "evaluation": sum(map(prose, measured)),
    }
