"""Documents with placeholders, such as `{settings.ports.kubelet}`."""

import re
from string import Formatter
from typing import Any

_PLACEHOLDER = re.compile(r"\{([\w.]+)\}")


def filled(document: Any, **values: Any) -> Any:
    """A document of dicts, lists and texts with its placeholders replaced, as `str.format` does.

    A text that is a placeholder and nothing else becomes the value itself, of whatever type.
    """
    if isinstance(document, dict):
        return {filled(key, **values): filled(item, **values) for key, item in document.items()}
    if isinstance(document, list):
        return [filled(item, **values) for item in document]
    if not isinstance(document, str):
        return document
    if whole := _PLACEHOLDER.fullmatch(document):
        return Formatter().get_field(whole[1], (), values)[0]
    return document.format(**values)
