"""Writes values as Erlang terms that `file:consult/1` reads back.

Python strings become binaries (UTF-8), so that names never become atoms by accident; `Atom` makes
an atom. All strings are escaped, so no value can end its literal early.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Atom:
    """An Erlang atom, at most 255 characters of Latin-1."""

    name: str

    def __post_init__(self) -> None:
        if len(self.name) > 255 or any(ord(character) > 255 for character in self.name):
            raise ValueError(f"{self.name!r} is not an atom: at most 255 characters of Latin-1")


Term = Atom | bool | int | str | tuple["Term", ...] | Sequence["Term"] | Mapping[Atom, "Term"]
"""Supported values: atoms, booleans, integers, strings (as binaries), tuples, lists, maps."""

_SPECIAL = frozenset(b"\"'\\")
_RESERVED_WORDS = (
    "after and andalso band begin bnot bor bsl bsr bxor case catch cond div else end fun if let"
    " maybe not of or orelse receive rem try when xor"
)
_RESERVED = frozenset(_RESERVED_WORDS.split())


def render(term: Term) -> str:
    """Return the text of a term, without the full stop.

    >>> render({Atom("seeds"): [("ads-0", 7946)], Atom("monotonic"): False})
    '#{seeds => [{<<"ads-0">>,7946}],monotonic => false}'
    """
    match term:
        case bool():
            return "true" if term else "false"
        case int():
            return str(term)
        case str():
            return f'<<"{_escaped(term.encode())}">>'
        case Atom(name):
            return _atom(name)
        case tuple():
            return "{" + ",".join(map(render, term)) + "}"
        case Mapping():
            pairs = (f"{render(key)} => {render(value)}" for key, value in term.items())
            return "#{" + ",".join(pairs) + "}"
        case Sequence():
            return "[" + ",".join(map(render, term)) + "]"
    raise TypeError(f"no Erlang term for a {type(term).__name__}")


def _atom(name: str) -> str:
    if re.fullmatch(r"[a-z][A-Za-z0-9_@]*", name) and name not in _RESERVED:
        return name
    return f"'{_escaped(name.encode('latin-1'))}'"


def _escaped(text: bytes) -> str:
    """Return text with all bytes but printable ASCII as hexadecimal escapes."""
    return "".join(
        chr(byte) if 0x20 <= byte < 0x7F and byte not in _SPECIAL else f"\\x{{{byte:02X}}}"
        for byte in text
    )
