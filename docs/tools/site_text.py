"""Pages of the repository as pages of the site: places, links, navigation, and Markdown's dialect.

Standard library only: the site is built in an environment of its own. Paths are those of the
repository from its root, except for *places*, which are paths in the site.
"""

import html
import posixpath
import re
from collections.abc import Callable, Iterator
from itertools import pairwise

DOCS = "docs/"

PLACES = {
    "README.md": "index.md",
    "docs/README.md": "pages.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing/contributing.md",
    "SECURITY.md": "security.md",
    "charts/partisan-operator/README.md": "reference/helm-values.md",
    "operator/README.md": "contributing/operator.md",
}
"""Pages whose place does not follow from their path."""

SOURCE = "source/"
"""Place of the other files of the repository that pages link to."""

_FENCE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<=\]\()[^)\s]+(?=[)\s])|(?:(?<= src=\")|(?<= href=\"))[^\"]+")
_PICTURE = re.compile(
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="(?P<dark>[^"]+)">\s*'
    r'<img src="(?P<light>[^"]+)"(?P<rest>[^>]*)>\s*</picture>'
)
_ITEM = re.compile(r"(?P<marker>(?:[-*]|\d+\.) +)\S")
_PIPES = re.compile(r"`([^`\n]*\\\|[^`\n]*)`")
_TITLE = re.compile(r"\[(?P<text>[^]]+)\]\((?P<target>[^)]+)\)")


def place(path: str) -> str:
    """The place of a file."""
    return PLACES.get(path) or (path.removeprefix(DOCS) if path.startswith(DOCS) else SOURCE + path)


def path_of(page: str) -> str:
    """The path of the page at a place."""
    return {place: path for path, place in PLACES.items()}.get(page, DOCS + page)


def resolved(target: str, path: str) -> str:
    """The path that a link of a page leads to, without its anchor; empty for other sites."""
    if re.match(r"\w+:", target):
        return ""
    file = target.partition("#")[0]
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path


def links(text: str) -> Iterator[str]:
    """The targets of a page's links and pictures."""
    for part in _FENCE.split(text):
        yield from _LINK.findall(part)


def page(text: str, path: str, *, is_directory: Callable[[str], bool]) -> str:
    """The Markdown of a page for the site."""
    begin = 0
    parts = []
    for fence in _FENCE.finditer(text):
        parts += [
            _prose(text[begin : fence.start()], path, is_directory),
            re.sub(r"^( *```\w*).*", r"\1", fence[0], count=1),
        ]
        begin = fence.end()
    parts.append(_prose(text[begin:], path, is_directory))
    return deepened("".join(parts))


def _prose(text: str, path: str, is_directory: Callable[[str], bool]) -> str:
    def by_colours(found: re.Match[str]) -> str:
        return "".join(
            f'<img src="{found[colour]}#only-{colour}"{found["rest"]}>'
            for colour in ("light", "dark")
        )

    def moved(found: re.Match[str]) -> str:
        goal = resolved(found[0], path)
        if not goal:
            return found[0]
        _, hash_, anchor = found[0].partition("#")
        return posixpath.relpath(place(goal), posixpath.dirname(place(path))) + hash_ + anchor

    def without_directory(found: re.Match[str]) -> str:
        goal = resolved(found["target"], path)
        return found["text"] if goal and is_directory(goal) else found[0]

    text = _PIPES.sub(_with_pipes, _PICTURE.sub(by_colours, text))
    return _LINK.sub(moved, _TITLE.sub(without_directory, text))


def _with_pipes(found: re.Match[str]) -> str:
    """Code in a table, of which Python-Markdown would show the backslashes before pipes."""
    return f"<code>{html.escape(found[1]).replace(chr(92) + '|', '&#124;')}</code>"


def deepened(text: str) -> str:
    """Text whose lists are as Python-Markdown reads them: after a blank line, indented by four."""
    lines: list[str] = []
    width = 0
    """Indentation of the content of the list that the line is in; 0 outside of lists."""
    fenced = False
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip(" "))
        if not fenced and (item := _ITEM.match(line)):
            if not width and lines and lines[-1].strip():
                lines.append("")
            width = len(item["marker"])
        elif line.strip() and not indent and not fenced and not (lines and lines[-1].strip()):
            width = 0
        if line.lstrip().startswith("```"):
            fenced = not fenced
        deeper = width and indent >= min(width, 4) and line.strip()
        lines.append(" " * (4 - min(width, 4)) + line if deeper else line)
    return "\n".join(lines) + "\n"


def anchor(heading: str, _separator: str = "-") -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def navigation(text: str) -> list[dict[str, list[str]]]:
    """The sections of the list of pages, a table each, with the places of their pages."""
    sections: list[dict[str, list[str]]] = []
    for line, below in pairwise([*text.splitlines(), ""]):
        first = line.strip("| ").split("|")[0].strip()
        linked = _TITLE.match(first)
        goal = place(resolved(linked["target"], "docs/README.md")) if linked else ""
        pages = [goal] if goal.endswith(".md") else []
        if below.startswith("|---"):
            sections.append({(linked["text"] if linked else first).capitalize(): pages})
        elif line.startswith("|") and sections:
            next(iter(sections[-1].values())).extend(pages)
    return sections
