"""The length of the documents."""

from pathlib import Path

import pytest

from docs.tools import words


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(
        "# A heading\n\nTwo words:\n\n```sh\nmake demo\n```\n\n| a | cell |\n|---|---|\n"
    )
    return path


def test_code_and_tables_are_no_prose(document: Path) -> None:
    # The sign of a heading is a word to `split`.
    assert words.prose(document) == 5


def test_tables_are_text(document: Path) -> None:
    assert words.without_code(document).split()[5:] == ["|", "a", "|", "cell", "|", "|---|---|"]


def test_every_part_of_the_documents_is_counted() -> None:
    counted = words.counted()
    assert counted.keys() == {"readme", "pages", "evaluation"}
    assert counted["readme"] == len(words.without_code(words.README).split())
    assert counted["pages"] > words.prose(Path("docs/why.md"))
    assert counted["evaluation"] > words.prose(Path("docs/evaluation/README.md"))
