"""How pods serve HTTP: their port, probes, mounts, and the scheme of requests."""

from typing import Any

import pytest

from partisan_operator.children import desired_children
from partisan_operator.cli.access import node_path
from world import cluster

TLS: dict[str, Any] = {"security": {"tls": {"secretName": "mine"}}}
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")


def pod(spec: dict[str, Any], *, bearer: bool = True) -> dict[str, Any]:
    stateful_set = desired_children(cluster(spec), "node:1", bearer=bearer).stateful_sets[0]
    template: dict[str, Any] = stateful_set.manifest["spec"]["template"]
    return template | {"metadata": {"name": "ads-0", "namespace": "default"}}


def spoken(made: dict[str, Any]) -> set[tuple[str, str]]:
    (container,) = made["spec"]["containers"]
    probes = (container[kind]["httpGet"] for kind in PROBES)
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    return {(probe["scheme"], f"{probe['port']} {ports[probe['port']]}") for probe in probes}


@pytest.mark.parametrize(
    ("spec", "bearer", "scheme"),
    [({}, True, "http"), (TLS, True, "https"), ({}, False, "http"), (TLS, False, "http")],
)
def test_port_probes_and_plugin_agree(spec: dict[str, Any], bearer: bool, scheme: str) -> None:
    made = pod(spec, bearer=bearer)
    assert spoken(made) == {(scheme.upper(), f"{scheme} 8080")}
    path = f"api/v1/namespaces/default/pods/{scheme}:ads-0:8080/proxy/status"
    assert node_path(made, "status") == path


def test_pods_mount_the_bearer_apart_from_the_token() -> None:
    volumes = {volume["name"]: volume for volume in pod({})["spec"]["volumes"]}
    assert volumes["bearer"]["secret"] == {"secretName": "ads-bearer", "defaultMode": 0o440}
    assert volumes["secret"]["secret"]["secretName"] == "ads-token"
    earlier = pod({}, bearer=False)
    assert "bearer" not in {volume["name"] for volume in earlier["spec"]["volumes"]}
