"""Documents with placeholders, such as `{settings.ports.kubelet}`."""

import re
from collections.abc import Callable
from string import Formatter
from typing import Any

_PLACEHOLDER = re.compile(r"\{([\w.]+)\}")


def filled(document: Any, **values: Any) -> Any:
    """A document of dicts, lists and texts with its placeholders replaced, as `str.format` does.

    A text that is a placeholder and nothing else becomes the value itself, of whatever type.
    """

    def fill(text: str) -> Any:
        if whole := _PLACEHOLDER.fullmatch(text):
            return Formatter().get_field(whole[1], (), values)[0]
        return text.format(**values)

    return changed(document, fill)


def changed(document: Any, change: Callable[[str], Any]) -> Any:
    """A document with each of its texts changed."""
    if isinstance(document, dict):
        return {changed(key, change): changed(item, change) for key, item in document.items()}
    if isinstance(document, list):
        return [changed(item, change) for item in document]
    return change(document) if isinstance(document, str) else document
