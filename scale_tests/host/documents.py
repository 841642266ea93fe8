"""Documents: data and prose next to a module, and generated parts of pages."""

import re
from pathlib import Path
from typing import Any

import yaml


def data_of(module: str) -> Any:
    """The YAML next to a module, of its name; `module` is its `__file__`."""
    return yaml.safe_load(Path(module).with_suffix(".yaml").read_text())


def with_part(text: str, name: str, part: str) -> str:
    """Text with the part between the marks `name` replaced. Raises ValueError without them.

    The marks are `<!-- NAME: source -->` and `<!-- end of NAME -->`.
    """
    pattern = re.compile(rf"(<!-- {name}: [^>]*-->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise ValueError(f"the marks of {name} are missing")
    return pattern.sub(lambda marks: f"{marks[1]}{part}\n{marks[2]}", text)
