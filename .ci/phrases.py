"""Check prose, comments and messages for phrases that have a better word.

    python3 .ci/phrases.py [ROOT...]

Without arguments it checks the roots that `phrases.toml` lists. A space in a pattern also matches a
line break with the comment leader of the next line. Exits with 1 when a phrase was found.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
GAP = r"(?:(?:\s|[#%*])+)"


@dataclass(frozen=True)
class Phrase:
    """A pattern, its replacement, and where it is allowed."""

    pattern: re.Pattern[str]
    advice: str
    allowed: list[re.Pattern[str]]
    """Matched against the lines of the finding."""
    files: list[str]
    """Globs of files in which the phrase is allowed."""


@dataclass(frozen=True)
class Rules:
    """The contents of `phrases.toml`."""

    roots: list[str]
    suffixes: list[str]
    """Endings of the files that are read; a name without a dot counts as an ending."""
    skipped: list[str]
    phrases: list[Phrase]


def load(path: Path) -> Rules:
    """Read the rules. Raises ValueError for an exception without a reason."""
    document = tomllib.loads(path.read_text())
    exceptions = [*document["skip"], *(e for p in document["phrase"] for e in p.get("except", []))]
    unexplained = [e for e in exceptions if not e.get("reason")]
    if unexplained:
        raise ValueError(f"exceptions without a reason: {unexplained}")
    return Rules(
        roots=document["roots"],
        suffixes=document["suffixes"],
        skipped=[e["path"] for e in document["skip"]],
        phrases=[phrase(p) for p in document["phrase"]],
    )


def phrase(table: dict[str, object]) -> Phrase:
    """Compile one table of the rules."""
    exceptions = table.get("except", [])
    assert isinstance(exceptions, list)
    return Phrase(
        pattern=compiled(str(table["pattern"])),
        advice=str(table["advice"]),
        allowed=[compiled(e["text"]) for e in exceptions if "text" in e],
        files=[e["path"] for e in exceptions if "path" in e],
    )


def compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern whose spaces also match line breaks inside a comment."""
    return re.compile(pattern.replace(" ", GAP), re.IGNORECASE)


def files(root: Path, rules: Rules) -> Iterator[Path]:
    """Files below a root that are read, in order, relative to the repository."""
    for path in [root] if root.is_file() else sorted(root.rglob("*")):
        relative = path.relative_to(REPOSITORY)
        wanted = path.is_file() and path.name.endswith(tuple(rules.suffixes))
        if wanted and not any(fnmatch(str(relative), glob) for glob in rules.skipped):
            yield relative


def findings(path: Path, rules: Rules) -> Iterator[tuple[int, str, str]]:
    """Line, phrase and advice of each finding in a file, in the order of its lines."""
    text = (REPOSITORY / path).read_text()
    found = []
    for rule in rules.phrases:
        if any(fnmatch(str(path), glob) for glob in rule.files):
            continue
        for match in rule.pattern.finditer(text):
            begin = text.rfind("\n", 0, match.start()) + 1
            end = text.find("\n", match.end())
            lines = text[begin : end if end >= 0 else len(text)]
            if not any(allowed.search(lines) for allowed in rule.allowed):
                words = " ".join(match.group().split())
                found.append((text.count("\n", 0, match.start()) + 1, words, rule.advice))
    yield from sorted(found)


def main(arguments: list[str]) -> int:
    """Print the findings below the roots; return the exit status."""
    rules = load(Path(__file__).with_name("phrases.toml"))
    status = 0
    for root in arguments or rules.roots:
        path = (REPOSITORY / root).resolve()
        if not path.exists():
            print(f"{root}: no such file or directory", file=sys.stderr)
            return 2
        for file in files(path, rules):
            for line, words, advice in findings(file, rules):
                print(f"{file}:{line}: {words} -> {advice}")
                status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
