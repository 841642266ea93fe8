"""Logs: one line for people, or one JSON object for programs."""

import json
import logging
import sys

from partisan_operator.models.clock import from_unix, to_wire
from partisan_operator.settings import Settings

_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
"""A message may quote a node: without these it cannot look like several."""


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": to_wire(from_unix(record.created)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        cluster = getattr(record, "cluster", None)
        if cluster is not None:
            entry["cluster"] = cluster
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry)


class _Text(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        cluster = getattr(record, "cluster", None)
        subject = f" [{cluster}]" if cluster else ""
        moment = to_wire(from_unix(record.created))
        message = record.getMessage().translate(_CONTROLS)
        line = f"{moment} {record.levelname:<7}{subject} {message}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def configure(settings: Settings) -> None:
    """Send all logs to the standard error in the configured format."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if settings.log_format == "json" else _Text())
    logging.basicConfig(level=settings.log_level.upper(), handlers=[handler], force=True)
    # Kopf logs every event.
    logging.getLogger("kopf").setLevel(logging.WARNING)
    # It warns that it handles no signals in its thread, as intended, and of each optional kind that
    # is not served: `watches` logs those.
    for name in ("running", "observation"):
        logging.getLogger(f"kopf._core.reactor.{name}").setLevel(logging.ERROR)
