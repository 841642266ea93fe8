"""Generated parts of documents, between `<!-- NAME: source -->` and `<!-- end of NAME -->`."""

from __future__ import annotations

import re


def with_part(text: str, name: str, part: str) -> str:
    """Text with the part between the marks `name` replaced. Raises ValueError without them."""
    pattern = re.compile(rf"(<!-- {name}: [^>]*-->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"the marks of {name} are missing")
    return pattern.sub(lambda marks: f"{marks[1]}{part}\n{marks[2]}", text)
