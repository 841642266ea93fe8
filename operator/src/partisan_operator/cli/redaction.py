"""Removes secrets from diagnostic bundles, in two ways.

Exactly: every value of the cluster's Secrets, wherever it occurs, in clear or in base64. By
pattern, for secrets that are elsewhere or may not be read: private keys, bearer tokens, values of
environment variables and settings of volume drivers with revealing names, any text of a token's
form.
"""

import base64
import binascii
import re
from collections.abc import Iterable
from typing import Any

from partisan_operator.children.shared_secrets import SECRET_BYTES
from partisan_operator.cli.kubectl import Json

REDACTED = "REDACTED"

_SHORTEST = 6
"""Shorter values would match unrelated text."""

_PATTERNS = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----", re.S),
    re.compile(r"(?<=Bearer )[A-Za-z0-9._~+/=-]{8,}"),
    # A token is as long as a digest: those with a prefix (`sha256:`, `containerd://`) stay.
    re.compile(rf"(?<![0-9a-zA-Z:/@])[0-9a-f]{{{2 * SECRET_BYTES}}}(?![0-9a-zA-Z])"),
)
_DRIVER_SETTINGS = ("volumeAttributes", "options")
"""Objects of a volume's source whose keys its driver defines."""

_TELLING = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|PRIVATE|API_?KEY", re.I)


class Redactor:
    """Redacts the secrets of a cluster."""

    def __init__(self, secrets: Iterable[Json] = ()) -> None:
        """Make a redactor of the values of these Secrets."""
        values = {
            text
            for secret in secrets
            for encoded in (secret.get("data") or {}).values()
            for text in (encoded, *_decoded(encoded))
            if len(text) >= _SHORTEST
        }
        # The longest first: one value may contain another.
        self._values = sorted(values, key=lambda value: (-len(value), value))

    def text(self, text: str) -> str:
        """Return text without secrets."""
        for value in self._values:
            text = text.replace(value, REDACTED)
        for pattern in _PATTERNS:
            text = pattern.sub(REDACTED, text)
        return text


def without_secrets(item: Json) -> Json:
    """Return an object without managed fields, secret values and values of secret variables.

    The keys stay: a missing one may be the problem.
    """
    metadata = {key: value for key, value in item["metadata"].items() if key != "managedFields"}
    annotations = dict(metadata.get("annotations") or {})
    # A copy of the object, redacted below.
    annotations.pop("kubectl.kubernetes.io/last-applied-configuration", None)
    if "annotations" in metadata:
        metadata["annotations"] = annotations
    clean = {**item, "metadata": metadata}
    for field in ("data", "stringData"):
        if item.get("kind") == "Secret" and field in item:
            clean[field] = {
                key: f"{REDACTED} ({len(value)} characters)" for key, value in item[field].items()
            }
    result: Json = _without_values(clean)
    return result


def _without_values(value: Any) -> Any:
    if isinstance(value, dict):
        if isinstance(value.get("value"), str) and _TELLING.search(str(value.get("name", ""))):
            return {**value, "value": REDACTED}
        return {
            key: _without_settings(entry) if key in _DRIVER_SETTINGS else _without_values(entry)
            for key, entry in value.items()
        }
    if isinstance(value, list):
        return [_without_values(entry) for entry in value]
    return value


def _without_settings(value: Any) -> Any:
    if not isinstance(value, dict):
        return _without_values(value)
    return {
        key: REDACTED if _TELLING.search(key) else _without_values(entry)
        for key, entry in value.items()
    }


def _decoded(encoded: str) -> tuple[str, ...]:
    try:
        return (base64.b64decode(encoded, validate=True).decode().strip(),)
    except (binascii.Error, UnicodeDecodeError):
        return ()
