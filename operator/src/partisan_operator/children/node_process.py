"""The process of a node: its variables, the emulator's arguments, its probes."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from partisan_operator.children import claims, node_http
from partisan_operator.children.child import Manifest
from partisan_operator.models import PartisanCluster, PartisanClusterSpec
from partisan_operator.models.quantities import whole

# A node is ready once it has joined. The startup probe waits for that, since each failed probe is
# an event on the pod. Later probes are rare: there may be a thousand nodes. Joining may take long
# where hundreds of pods start on one Kubernetes node, and a restart would only add to that.
_PROBES: Mapping[str, Mapping[str, Any]] = {
    "startup": {
        "path": "/readyz?wait=10",
        "initialDelaySeconds": 2,
        "periodSeconds": 1,
        "timeoutSeconds": 15,
        "failureThreshold": 1800,
    },
    "readiness": {
        "path": "/readyz",
        "periodSeconds": 10,
        "timeoutSeconds": 5,
        "failureThreshold": 2,
    },
    "liveness": {
        "path": "/livez",
        "periodSeconds": 20,
        "timeoutSeconds": 10,
        "failureThreshold": 6,
    },
}
_FIELDS = (
    ("POD_NAME", "metadata.name"),
    ("POD_NAMESPACE", "metadata.namespace"),
    ("POD_IP", "status.podIP"),
    ("K8S_NODE_NAME", "spec.nodeName"),
    # Empty where Kubernetes does not copy the label from its node to the pod.
    ("K8S_ZONE", "metadata.labels['topology.kubernetes.io/zone']"),
)


def environment(spec: PartisanClusterSpec, requests: Mapping[str, Any]) -> Manifest:
    """Return the variables of the node's container, and where others come from."""
    own = [
        {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}
        for name, path in _FIELDS
    ]
    variables = [variable.to_wire() for variable in spec.pods.env]
    sources = [source.to_wire() for source in spec.pods.env_from]
    return {
        "env": [
            *own,
            *_schedulers(spec, requests),
            *claims.state_variables(spec.pods),
            *variables,
        ],
        **({"envFrom": sources} if sources else {}),
    }


def _schedulers(spec: PartisanClusterSpec, requests: Mapping[str, Any]) -> list[Manifest]:
    """Return as many schedulers as CPUs are requested, unless the spec has a limit or a number.

    Without any, the emulator starts a scheduler for each CPU of the Kubernetes node.
    """
    numbered = any(argument.flag == "+S" for argument in spec.pods.emulator_arguments)
    if numbered or "cpu" in (spec.resources.limits or {}):
        return []
    count = whole(requests.get("cpu", 1))
    return [{"name": "ERL_FLAGS", "value": f"+S {count}:{count}"}]


def arguments(spec: PartisanClusterSpec) -> Manifest:
    """Return the arguments of the image's entry point, which passes them to the emulator."""
    words = [
        word
        for argument in spec.pods.emulator_arguments
        for word in (argument.flag, *argument.values)
    ]
    return {"args": words} if words else {}


def probes(cluster: PartisanCluster, *, bearer: bool) -> Manifest:
    """Return the probes; `bearer` is whether the image supports the bearer: see `node_http`."""
    given = cluster.spec.pods.probes.to_wire()
    return {
        f"{kind}Probe": {
            "httpGet": node_http.probe(cluster, probe["path"], bearer=bearer),
            **{key: value for key, value in probe.items() if key != "path"},
            **given[kind],
        }
        for kind, probe in _PROBES.items()
    }


def from_template(node: Mapping[str, Any]) -> Manifest:
    """Return the fields of `spec.pods` that made the arguments and probes of the node."""
    return {
        "emulatorArguments": list(_flags(node.get("args") or ())),
        "probes": {
            kind: timing
            for kind, probe in _PROBES.items()
            if (timing := _changed(node.get(f"{kind}Probe") or {}, probe))
        },
    }


def _flags(words: Iterable[str]) -> Iterator[Manifest]:
    found: list[Manifest] = []
    for word in words:
        if word[0] in "+-":
            found.append({"flag": word, "values": []})
        else:
            found[-1]["values"].append(word)
    yield from found


def _changed(probe: Mapping[str, Any], default: Mapping[str, Any]) -> Manifest:
    timing = ("periodSeconds", "timeoutSeconds", "failureThreshold")
    return {key: probe[key] for key in timing if key in probe and probe[key] != default[key]}
