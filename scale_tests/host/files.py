"""Files that are written in one step."""

from __future__ import annotations

from pathlib import Path


def replace(path: Path, text: str, *, mode: int = 0o644) -> None:
    """Writes a file so that readers see the previous content, or all of the new."""
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    partial.touch(mode=mode)
    partial.write_text(text)
    partial.rename(path)
