"""The values that a PartisanCluster may have, read from its CRD."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

import yaml

from scale_tests.host.commands import ROOT

FILE = ROOT / "crds" / "partisanclusters.yaml"


def overlays() -> tuple[str, ...]:
    """The kinds of overlays, such as `HyParView`."""
    return tuple(_spec()["overlay"]["properties"]["kind"]["enum"])


def synchronizations() -> tuple[str, ...]:
    """The ways in which replicas become equal, such as `Delta`."""
    return tuple(_spec()["workload"]["properties"]["synchronization"]["enum"])


def largest() -> int:
    """The most replicas of one cluster."""
    return int(_spec()["replicas"]["maximum"])


def fields() -> frozenset[str]:
    """The members of a spec."""
    return frozenset(_spec())


@cache
def _spec() -> dict[str, Any]:
    definition = yaml.safe_load(FILE.read_text())
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return cast(dict[str, Any], schema["properties"]["spec"]["properties"])
