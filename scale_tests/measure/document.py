"""`build/results/NAME.json`, with which a script can check a claim without reading prose."""

import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scale_tests.host.commands import ROOT
from scale_tests.measure.checks import Check

RESULTS = ROOT / "build" / "results"


def machine() -> dict[str, Any]:
    """The machine that this process runs on; the cluster's own with a local cluster."""
    cpuinfo = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)$", cpuinfo, re.MULTILINE)
    return {
        "cpus": os.cpu_count(),
        "cpu_model": model.group(1) if model else platform.processor(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
    }


def document(
    name: str,
    *,
    started: datetime,
    versions: Mapping[str, str],
    cells: Sequence[Mapping[str, Any]],
    checks: Sequence[Check],
    **meta: Any,
) -> dict[str, Any]:
    """A measurement as it is written: circumstances, raw figures (cells), and checks.

    `meta` is everything else of the circumstances: config, seed, quick.
    """
    return {
        "meta": {
            "name": name,
            "started": started.astimezone(UTC).isoformat(timespec="seconds"),
            "versions": dict(versions),
            "machine": machine(),
            **meta,
        },
        "cells": list(cells),
        "bars": [asdict(check) for check in checks],
    }


def write(measured: Mapping[str, Any], directory: Path | None = None) -> Path:
    """Writes a document under its own name, into `RESULTS` by default; returns the file."""
    directory = directory or RESULTS
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / f"{measured['meta']['name']}.json"
    file.write_text(json.dumps(measured, indent=2) + "\n")
    return file
