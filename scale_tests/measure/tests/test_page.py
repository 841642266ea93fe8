"""One page, two forms."""

from pathlib import Path

from scale_tests.measure.checks import Check
from scale_tests.measure.page import (
    Page,
    Picture,
    Section,
    Table,
    bars_table,
    hypertext,
    markdown,
    write,
)


def _page(directory: Path) -> Page:
    svg = directory / "pictures" / "a.svg"
    svg.parent.mkdir()
    svg.write_text('<?xml version="1.0"?>\n<svg><text>drawn</text></svg>\n')
    table = Table(caption="What it shows", head=("a", "b|c"), rows=[("1", "<2>")])
    picture = Picture(title="A picture", file=svg, caption="Of `this`.")
    return Page(
        title="Title & more",
        sections=[Section(title="First", text=["Some `code`."], parts=[table, picture])],
    )


def test_markdown_links_its_pictures(tmp_path: Path) -> None:
    text = markdown(_page(tmp_path), tmp_path)
    assert text.startswith("# Title & more\n")
    assert "\n| a | b\\|c |\n| --- | --- |\n| 1 | <2> |\n" in text
    assert "![A picture](pictures/a.svg)" in text


def test_hypertext_holds_its_pictures_and_escapes_the_rest(tmp_path: Path) -> None:
    text = hypertext(_page(tmp_path), tmp_path)
    assert "<title>Title &amp; more</title>" in text
    assert "<p>Some <code>code</code>.</p>" in text
    assert "<td>&lt;2&gt;</td>" in text
    assert "<figure><svg><text>drawn</text></svg>" in text
    assert "<?xml" not in text


def test_both_forms_are_written_next_to_the_pictures(tmp_path: Path) -> None:
    readme, report = write(_page(tmp_path), tmp_path)
    assert (readme.name, report.name) == ("README.md", "report.html")
    assert "(pictures/a.svg)" in readme.read_text()
    assert "<svg>" in report.read_text()


def test_empty_titles_and_captions_are_left_out(tmp_path: Path) -> None:
    table = Table(head=("a",), rows=[("1",)])
    page = Page(title="Title", sections=[Section(text=["First."], parts=[table])])
    assert markdown(page, tmp_path) == "# Title\n\nFirst.\n\n| a |\n| --- |\n| 1 |\n"
    assert "<h2>" not in hypertext(page, tmp_path)


def test_each_check_is_a_row_that_says_whether_it_holds() -> None:
    checks = [
        Check(name="links", value=7, bar="= 7", ok=True),
        Check(name="s", value=2, bar="1", ok=False),
        Check(name="bytes", value=None, bar="1", ok=None),
    ]
    assert bars_table(checks).rows == [
        ["links", "7", "= 7", "ok"],
        ["s", "2", "1", "MISSED"],
        ["bytes", "-", "1", "not run"],
    ]
