"""Erlang reads rendered terms back unchanged."""

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partisan_operator.children.erlang_terms import Atom, render

latin1 = st.text(st.characters(max_codepoint=255), max_size=20)
terms = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=20) | latin1.map(Atom),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(latin1.map(Atom), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (True, "true"),
        (-7, "-7"),
        ("ads-0", '<<"ads-0">>'),
        ('"\\\n', '<<"\\x{22}\\x{5C}\\x{0A}">>'),
        ("é", '<<"\\x{C3}\\x{A9}">>'),
        (Atom("gossip"), "gossip"),
        (Atom("end"), "'end'"),
        (Atom("it's"), "'it\\x{27}s'"),
        (Atom(""), "''"),
        ([], "[]"),
        ((Atom("a"), [1, 2]), "{a,[1,2]}"),
        ({Atom("k"): {}}, "#{k => #{}}"),
    ],
)
def test_terms(term: object, text: str) -> None:
    assert render(term) == text  # type: ignore[arg-type]


def test_an_atom_that_erlang_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="not an atom"):
        Atom("x" * 256)
    with pytest.raises(ValueError, match="not an atom"):
        Atom("\N{GREEK SMALL LETTER ALPHA}")


@given(terms)
def test_a_literal_never_ends_early(term: object) -> None:
    """For any strings, quotes pair up, and only printable ASCII is written."""
    text = render(term)  # type: ignore[arg-type]
    assert all(0x20 <= ord(character) < 0x7F for character in text)
    for quote in ('"', "'"):
        assert text.count(quote) % 2 == 0


@given(st.text())
def test_a_string_can_be_read_back(string: str) -> None:
    body = render(string).removeprefix('<<"').removesuffix('">>')
    assert '"' not in body
    assert _unescape(body).decode() == string


@pytest.mark.skipif(shutil.which("erl") is None, reason="needs Erlang")
def test_erlang_reads_nasty_strings_and_atoms(tmp_path: Path) -> None:
    strings = ["", "plain", "q\"uo\\te's", "new\nline\0", "\N{SNOWMAN}é", "~p %% {}. #{"]
    atoms = ["plain", "end", "Upper", "it's", "with space", "\\", "é", "", "a@b"]
    term = (strings, [Atom(name) for name in atoms])
    (tmp_path / "term").write_text(f"{render(term)}.\n", encoding="ascii")
    program = (
        '{ok, [{Strings, Atoms}]} = file:consult("term"),'
        "Hex = fun(B) -> [io_lib:format("
        '"~2.16.0b", [X]) || <<X>> <= B] end,'
        '[io:format("~s~n", [Hex(S)]) || S <- Strings],'
        '[io:format("~s~n", [Hex(atom_to_binary(A, utf8))]) || A <- Atoms], halt().'
    )
    command = ["erl", "-noshell", "-noinput", "-eval", program]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, text=True)
    assert done.stdout.split("\n")[:-1] == [text.encode().hex() for text in strings + atoms]


def _unescape(body: str) -> bytes:
    result = bytearray()
    while body:
        if body.startswith("\\x{"):
            result.append(int(body[3:5], 16))
            body = body[6:]
        else:
            result.append(ord(body[0]))
            body = body[1:]
    return bytes(result)
