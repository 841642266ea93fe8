"""The page of the plugin's commands."""

from partisan_operator.cli.catalogue import COMMANDS

from docs.tools.cli import PAGE, page


def test_every_command_has_a_section_with_its_arguments_and_examples() -> None:
    text = page()
    assert text.count("\n## ") == len(COMMANDS)
    assert all(f"\nkubectl partisan {e}\n" in text for c in COMMANDS for e in c.examples)
    assert all(f" {' '.join(c.words)}\n\n{c.summary}." in text for c in COMMANDS)


def test_arguments_say_what_is_optional_and_which_values_they_have() -> None:
    text = page()
    assert "| `-o`, `--output` | `text`, `dot`, `svg`; default: `text` |" in text
    assert "| `key=value` | optional: parameters of the kind:" in text
    assert "| `-f`, `--filename` | required: the manifest;" in text
    assert "| `-n`, `--namespace` | namespace of the cluster;" in text


def test_the_page_is_as_generated() -> None:
    assert PAGE.read_text() == page(), "make reference"
