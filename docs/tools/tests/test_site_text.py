"""Pages of the repository become pages of the site."""

import pytest

from docs.tools.site_text import PLACES, anchor, deepened, links, navigation, page, path_of, place
from scale_tests.host.commands import ROOT


def moved(text: str, path: str) -> str:
    return page(text, path, is_directory=lambda goal: goal == "examples/elixir").strip()


@pytest.mark.parametrize(
    ("path", "link", "target"),
    [
        ("docs/guides/tls.md", "scaling.md#more", "scaling.md#more"),
        ("docs/guides/tls.md", "#more", "tls.md#more"),
        ("docs/guides/tls.md", "../../examples/tls.yaml", "../source/examples/tls.yaml"),
        ("docs/guides/tls.md", "../../README.md", "../index.md"),
        ("docs/guides/tls.md", "../README.md", "../pages.md"),
        ("README.md", "docs/guides/tls.md", "guides/tls.md"),
        ("README.md", "docs/README.md", "pages.md"),
        ("charts/partisan-operator/README.md", "../../docs/guides/tls.md", "../guides/tls.md"),
        ("README.md", "https://example.org/a.md", "https://example.org/a.md"),
    ],
)
def test_a_link_leads_to_the_place_of_its_page(path: str, link: str, target: str) -> None:
    assert moved(f"a [b]({link})\n", path) == f"a [b]({target})"


def test_links_in_code_stay() -> None:
    text = "```\n[a](docs/a.md)\n```"
    assert moved(text, "README.md") == text
    assert list(links(text + '\n<img src="a.svg"> [b](b.md)')) == ["a.svg", "b.md"]


def test_directories_have_no_page() -> None:
    assert moved("[`elixir`](../../examples/elixir)", "docs/guides/tls.md") == "`elixir`"


def test_a_picture_follows_the_colours_of_the_page() -> None:
    text = (
        '<picture>\n  <source media="(prefers-color-scheme: dark)" srcset="docs/a-dark.svg">\n'
        '  <img src="docs/a-light.svg" alt="b">\n</picture>'
    )
    assert moved(text, "README.md") == (
        '<img src="a-light.svg#only-light" alt="b"><img src="a-dark.svg#only-dark" alt="b">'
    )


def test_the_status_of_commands_is_hidden() -> None:
    assert moved("```sh exit=1\nfalse\n```", "README.md") == "```sh\nfalse\n```"


def test_pipes_in_code_of_a_table_have_no_backslash() -> None:
    assert moved("| `a` | `b -> \\|c` |", "README.md") == ("| `a` | <code>b -&gt; &#124;c</code> |")


def test_what_is_in_a_list_is_indented_by_four() -> None:
    assert deepened("A:\n- b\n  c\n\n  ```sh\n  d\n    e\n  ```\n\nf\n  g\n") == (
        "A:\n\n- b\n    c\n\n    ```sh\n    d\n      e\n    ```\n\nf\n  g\n"
    )


def test_headings_have_the_anchors_of_github() -> None:
    assert anchor("`spec.pods[]`, and a: Word") == "specpods-and-a-word"


def test_the_navigation_is_the_list_of_pages() -> None:
    text = (
        "| [evaluation](evaluation/README.md) | x |\n|---|---|\n| [a.md](evaluation/a.md) | b |\n\n"
        "| start | |\n|---|---|\n| [c](../SECURITY.md) | d |\n| e | f |\n"
    )
    assert navigation(text) == [
        {"Evaluation": ["evaluation/README.md", "evaluation/a.md"]},
        {"Start": ["security.md"]},
    ]


def test_pages_from_elsewhere_exist_and_are_found_again() -> None:
    assert all((ROOT / path).is_file() for path in PLACES)
    assert [path_of(place(path)) for path in PLACES] == list(PLACES)
    assert path_of("guides/tls.md") == "docs/guides/tls.md"
