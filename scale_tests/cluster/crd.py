"""The CRD of PartisanClusters, and the values that it allows."""

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import yaml

from scale_tests.host.commands import ROOT

FILE = ROOT / "crds" / "partisanclusters.yaml"


@cache
def definition() -> Mapping[str, Any]:
    """The CRD. All callers share it: one that changes something takes a copy."""
    return cast(Mapping[str, Any], yaml.load(FILE.read_text(), yaml.CSafeLoader))


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


def _spec() -> Mapping[str, Any]:
    schema = definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return cast(Mapping[str, Any], schema["properties"]["spec"]["properties"])
