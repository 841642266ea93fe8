"""CRDs of other operators, as their projects publish them.

With them an API server knows PodMonitors, ServiceMonitors, PrometheusRules and ScaledObjects, and
refuses invalid ones: the chart and the examples are checked as in a cluster with the Prometheus
operator or KEDA.
"""

import json
from pathlib import Path
from typing import cast

import yaml

from scale_tests.cluster.kube import Json
from scale_tests.host.commands import capture

GROUP = "monitoring.coreos.com"
KINDS = ("podmonitors", "servicemonitors", "prometheusrules")
"""The kinds that the chart has objects of."""

_MODULE = "github.com/prometheus-operator/prometheus-operator"
_KEDA = "github.com/kedacore/keda/v2"
_PINNED = Path(__file__).with_name("crds")


def definitions() -> list[Json]:
    """The CustomResourceDefinitions of `KINDS`, of the version that `crds/go.mod` pins.

    Raises CommandError: Go cannot fetch the module.
    """
    directory = _downloaded(_MODULE) / "example" / "prometheus-operator-crd"
    return [_read(directory / f"{GROUP}_{kind}.yaml") for kind in KINDS]


def scaled_object() -> Json:
    """The CustomResourceDefinition of KEDA's ScaledObject, of the version that is pinned.

    Raises CommandError: Go cannot fetch the module.
    """
    return _read(_downloaded(_KEDA) / "config" / "crd" / "bases" / "keda.sh_scaledobjects.yaml")


def _downloaded(module: str) -> Path:
    answer = capture(["go", "-C", str(_PINNED), "mod", "download", "-json", module])
    return Path(json.loads(answer)["Dir"])


def _read(path: Path) -> Json:
    return cast(Json, yaml.safe_load(path.read_text()))
