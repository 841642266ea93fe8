"""The simple commands of a shell script, without running it."""

import io
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

_HEREDOC = re.compile(r"<<-?(['\"]?)(\w+)\1(?P<rest>[^\n]*)\n(?P<text>.*?)^\2$", re.DOTALL | re.M)
_ASSIGNMENT = re.compile(r"\w+=")
_KEYWORDS = {"do", "done", "else", "fi", "if", "then", "until", "while"}
_OPERATORS = ";&|()<>\n"


@dataclass(frozen=True)
class Command:
    """A program with its arguments."""

    words: tuple[str, ...]
    stdin: str = ""
    """The text of its here-document."""


def typed(console: str) -> str:
    """The commands of a console's text: the lines after a prompt."""
    lines = console.splitlines()
    return "\n".join(line.removeprefix("$ ") for line in lines if line.startswith("$ "))


def commands(script: str) -> Iterator[Command]:
    """The commands of a script, those of substitutions and both ends of pipes included.

    Raises ValueError for an open quote.
    """
    texts: list[str] = []

    def taken(found: re.Match[str]) -> str:
        texts.append(found["text"])
        return f" <<{len(texts) - 1}{found['rest']}"

    lexer = shlex.shlex(
        _Script(_HEREDOC.sub(taken, script).replace("\\\n", " ")),
        posix=True,
        punctuation_chars=_OPERATORS,
    )
    lexer.whitespace = " \t"
    lexer.whitespace_split = True
    words: list[str] = []
    stdin = ""
    redirection = ""
    for token in [*lexer, "\n"]:
        if redirection:
            stdin = texts[int(token)] if redirection == "<<" else stdin
            redirection = ""
        elif token in ("<", "<<", ">", ">>", ">&"):
            redirection = token
            if words and words[-1].isdigit():
                words.pop()
        elif set(token) <= set(_OPERATORS):
            if words := _program(words):
                yield Command(tuple(words), stdin)
            words, stdin = [], ""
        else:
            words.append(token)


class _Script:
    """A script of which a comment ends before the end of its line, which separates commands."""

    def __init__(self, text: str) -> None:
        self._text = io.StringIO(text)

    def read(self, size: int, /) -> str:
        """The next characters."""
        return self._text.read(size)

    def readline(self) -> object:
        """The rest of the line, without its end."""
        line = self._text.readline()
        if line.endswith("\n"):
            self._text.seek(self._text.tell() - 1)
        return line

    def close(self) -> None:
        """Nothing to close."""


def _program(words: list[str]) -> list[str]:
    """The words from the program on: without keywords and assignments before it."""
    while words and (words[0] in _KEYWORDS or _ASSIGNMENT.match(words[0])):
        words = words[1:]
    return words
