"""The program of the Prometheus image, built outside and copied in."""

from __future__ import annotations

import shutil

from images.builder.catalogue import ROOT
from images.builder.prometheus import ensure_built
from images.builder.tools import ImageError
from scale_tests.localkube.toolset import BuildError

PROMETHEUS = ROOT / "build" / "prometheus" / "prometheus"


def ensure_prometheus() -> None:
    """Puts Prometheus where its Dockerfile takes it from. Raises ImageError: it cannot be built."""
    try:
        built = ensure_built() / "prometheus"
    except BuildError as error:
        raise ImageError(str(error)) from error
    if not PROMETHEUS.exists() or PROMETHEUS.stat().st_mtime < built.stat().st_mtime:
        PROMETHEUS.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(built, PROMETHEUS)
