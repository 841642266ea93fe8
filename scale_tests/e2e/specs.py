"""Parts of a cluster's spec, for manifests that must be refused, or accepted, or that run."""

from typing import Any

Spec = dict[str, Any]

Row = tuple[Spec, str]
"""A spec, and the field that its refusal names."""

DEFAULT: Spec = {"name": "default"}

COUNTER: Spec = {"impressions": 10, "incrementInterval": "1s", "propagationInterval": "1s"}

ARGUMENT: Spec = {"name": "interval", "value": 500}

STATE: Spec = {
    "volumeClaimTemplates": [
        {
            "name": "records",
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "16Mi"}},
            },
        }
    ],
    "stateClaim": "records",
}
"""Pods whose state is in claims."""


def overlay(kind: str, member: str = "", **fields: Any) -> Spec:
    return {"overlay": {"kind": kind, **({member: fields} if member else {})}}


def static(replicas: int, *edges: list[int]) -> Spec:
    return {"replicas": replicas, **overlay("Static", "static", edges=list(edges))}


def channel(**fields: Any) -> Spec:
    return {"channels": [{**DEFAULT, **fields}]}


def counter(**changed: Any) -> Spec:
    return {"workload": {"adCounter": {**COUNTER, **changed}}}


def custom(**fields: Any) -> Spec:
    return {"workload": {"custom": {"module": "rumours", **fields}}}


def pods(**fields: Any) -> Spec:
    return {"pods": fields}


def tls(**fields: Any) -> Spec:
    return {"security": {"tls": fields}}


def resources(**fields: Any) -> Spec:
    return {"resources": fields}


def variable(name: str, **fields: Any) -> Spec:
    return pods(env=[{"name": name, **(fields or {"value": "x"})}])


def spread(**fields: Any) -> Spec:
    whole = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"a": "b"}},
        **fields,
    }
    constraint = {key: value for key, value in whole.items() if value is not None}
    return {"topologySpreadConstraints": [constraint]}


def node_affinity(**requirement: Any) -> Spec:
    term = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"], **requirement}]}
    return required_nodes(term)


def required_nodes(*terms: Spec) -> Spec:
    required = {"nodeSelectorTerms": list(terms)}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    }


def anti_affinity(**term: Any) -> Spec:
    whole = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}, **term}
    return {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [whole]}}
    }


def preferred(weight: Any) -> Spec:
    term = {"weight": weight, "podAffinityTerm": {"topologyKey": "a", "labelSelector": {}}}
    return {
        "affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    }
