"""The definitions of the Prometheus operator's kinds, as that project publishes them.

With them an API server knows PodMonitors, ServiceMonitors and PrometheusRules, and refuses those
that are wrong: the chart is held to what a cluster with the Prometheus operator would say.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import yaml

from scale_tests.harness.commands import capture
from scale_tests.harness.kube import Json

GROUP = "monitoring.coreos.com"
KINDS = ("podmonitors", "servicemonitors", "prometheusrules")
"""The kinds that the chart has objects of."""

_MODULE = "github.com/prometheus-operator/prometheus-operator"
_PINNED = Path(__file__).with_name("kinds")


def definitions() -> list[Json]:
    """The CustomResourceDefinitions of `KINDS`, of the version that `kinds/go.mod` pins.

    Raises:
        CommandError: Go cannot fetch the module.
    """
    answer = capture(["go", "-C", str(_PINNED), "mod", "download", "-json", _MODULE])
    directory = Path(json.loads(answer)["Dir"]) / "example" / "prometheus-operator-crd"
    return [
        cast(Json, yaml.safe_load((directory / f"{GROUP}_{kind}.yaml").read_text()))
        for kind in KINDS
    ]
