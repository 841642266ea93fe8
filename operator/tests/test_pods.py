"""The pods of a cluster, as their StatefulSets have them."""

from typing import Any

import pytest

from partisan_operator.children import naming
from partisan_operator.children.node_config import render_config
from partisan_operator.models.pods import OWN_LABELS, OWN_PREFIX
from partisan_operator.models.ports import OWN_PORT_NAMES, OWN_PORTS
from partisan_operator.models.variables import OWN_VARIABLES
from partisan_operator.models.volumes import OWN_PATHS, OWN_VOLUMES
from world import cluster, manifest

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def pod(**spec: Any) -> dict[str, Any]:
    found: dict[str, Any] = manifest("StatefulSet", **spec)["spec"]["template"]
    return found


def container(**spec: Any) -> dict[str, Any]:
    found: dict[str, Any] = pod(**spec)["spec"]["containers"][0]
    return found


def test_the_pod_has_no_privileges_and_no_access_to_the_api_server() -> None:
    spec = pod()["spec"]
    assert spec["automountServiceAccountToken"] is False
    assert spec["enableServiceLinks"] is False
    assert spec["securityContext"]["runAsNonRoot"]
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_pod_reads_its_configuration_and_writes_to_memory_only() -> None:
    mounts = {mount["mountPath"]: mount for mount in container()["volumeMounts"]}
    assert mounts["/etc/partisan/config"]["readOnly"]
    assert mounts["/etc/partisan/secret"]["readOnly"]
    volumes = {volume["name"]: volume for volume in pod()["spec"]["volumes"]}
    assert volumes[mounts["/var/lib/partisan"]["name"]]["emptyDir"]["medium"] == "Memory"
    assert {entry["name"] for entry in container()["env"]} == {
        "POD_NAME",
        "POD_NAMESPACE",
        "POD_IP",
        "K8S_NODE_NAME",
        "K8S_ZONE",
        "ERL_FLAGS",
    }


@pytest.mark.parametrize(
    ("resources", "flags"),
    [
        ({}, "+S 1:1"),
        ({"requests": {"memory": "48Mi"}}, "+S 1:1"),
        ({"requests": {"cpu": "2500m"}}, "+S 3:3"),
        ({"limits": {"memory": "1Gi"}}, "+S 1:1"),
        ({"limits": {"cpu": 4}}, None),
    ],
)
def test_schedulers_follow_the_requested_cpus(resources: dict[str, Any], flags: str) -> None:
    values = {entry["name"]: entry.get("value") for entry in container(resources=resources)["env"]}
    assert values.get("ERL_FLAGS") == flags


def test_without_tls_there_are_no_tls_files() -> None:
    assert "/etc/partisan/tls" not in {m["mountPath"] for m in container()["volumeMounts"]}
    assert "tls" not in {volume["name"] for volume in pod()["spec"]["volumes"]}
    assert "tls" not in render_config(cluster({}))


def test_with_tls_nodes_read_the_users_secret() -> None:
    security = {"tls": {"secretName": "ads-tls"}}
    mounts = {mount["name"]: mount for mount in container(security=security)["volumeMounts"]}
    assert mounts["tls"] == {"name": "tls", "mountPath": "/etc/partisan/tls", "readOnly": True}
    volumes = {volume["name"]: volume for volume in pod(security=security)["spec"]["volumes"]}
    assert volumes["tls"]["secret"]["secretName"] == "ads-tls"
    # Kubernetes waits for all of them.
    items = [item["key"] for item in volumes["tls"]["secret"]["items"]]
    assert items == ["tls.crt", "tls.key", "ca.crt"]
    text = render_config(cluster({"security": security}))
    assert 'cacertfile => <<"/etc/partisan/tls/ca.crt">>' in text
    assert 'server_name => <<"ads.default.svc">>' in text


def test_pods_start_at_once_and_are_replaced_by_the_operator_only() -> None:
    spec = manifest("StatefulSet", "ads-s1", replicas=300)["spec"]
    assert spec["podManagementPolicy"] == "Parallel"
    assert spec["updateStrategy"] == {"type": "OnDelete"}
    assert spec["ordinals"] == {"start": 250}
    assert spec["serviceName"] == "ads-s1"
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()


def test_the_image_of_the_operator_is_the_default() -> None:
    assert container()["image"] == "node:1"
    assert container(image="mine:2")["image"] == "mine:2"


def test_resources_have_small_defaults_that_can_be_replaced() -> None:
    assert container()["resources"] == {"requests": {"cpu": "10m", "memory": "48Mi"}}
    own = {"requests": {"cpu": 1}, "limits": {"memory": "1Gi"}}
    expected = {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}}
    assert container(resources=own)["resources"] == expected
    assert container(resources={"requests": {}})["resources"] == {}


def test_pods_spread_by_default_and_only_by_default() -> None:
    keys = [entry["topologyKey"] for entry in pod()["spec"]["topologySpreadConstraints"]]
    assert keys == ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
    assert "topologySpreadConstraints" not in pod(topologySpreadConstraints=[])["spec"]


def test_scheduling_is_passed_on_and_left_out_when_empty() -> None:
    fields = {"nodeSelector", "tolerations", "affinity", "priorityClassName", "imagePullSecrets"}
    assert not fields & pod()["spec"].keys()
    given_fields = {
        "nodeSelector": {"disk": "fast"},
        "tolerations": [{"key": "k", "operator": "Exists"}],
        "affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": "a", "labelSelector": {}}]}},
        "priorityClassName": "high",
        "imagePullSecrets": [{"name": "registry"}],
    }
    spec = pod(**given_fields)["spec"]
    assert {name: spec[name] for name in fields} == given_fields


def test_additional_labels_and_variables_of_pods_are_passed_on() -> None:
    secret = {"secretKeyRef": {"name": "ads-extra", "key": "password"}}
    own: dict[str, Any] = {
        "labels": {"team": "overlay"},
        "annotations": {"example.org/owner": "me"},
        "env": [{"name": "COLOUR", "value": "blue"}, {"name": "PASSWORD", "valueFrom": secret}],
        "envFrom": [{"secretRef": {"name": "more"}, "prefix": "MORE_"}],
    }
    metadata = pod(pods=own)["metadata"]
    for kind in ("labels", "annotations"):
        assert metadata[kind].items() > own[kind].items()
    assert container(pods=own)["env"] == container()["env"] + own["env"]
    assert container(pods=own)["envFrom"] == own["envFrom"]
    assert "envFrom" not in container()


def test_fields_of_the_operator_are_rejected_from_users() -> None:
    """The rules of the CRD cover all of them, so that none is overwritten."""
    storage = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claims = [{"name": "data", "spec": storage}]
    state = {"volumeClaimTemplates": claims, "stateClaim": "data"}
    names = {entry["name"] for entry in container(pods=state)["env"]}
    assert names == set(OWN_VARIABLES)
    keys = {*pod()["metadata"]["labels"], *pod()["metadata"]["annotations"]}
    assert {key for key in keys if not key.startswith(OWN_PREFIX)} == set(OWN_LABELS)


def test_the_operators_volumes_and_mounts_cannot_be_taken() -> None:
    """The rules of the CRD cover all of them."""
    security = {"tls": {"secretName": "ads-tls"}}
    assert {volume["name"] for volume in pod(security=security)["spec"]["volumes"]} == set(
        OWN_VOLUMES
    )
    for mount in container(security=security)["volumeMounts"]:
        assert mount["mountPath"].startswith(OWN_PATHS)


def test_the_nodes_ports_cannot_be_taken() -> None:
    """The rules of the CRD cover all of them."""
    own = [naming.PARTISAN_PORT, naming.HTTP_PORT]
    assert sorted(OWN_PORTS) == own
    security = {"tls": {"secretName": "ads-tls"}}
    for ports in (container()["ports"], container(security=security)["ports"]):
        assert [port["containerPort"] for port in ports] == own
        assert {port["name"] for port in ports} < set(OWN_PORT_NAMES)


def test_scheduling_stored_before_the_bounds_reaches_the_pods() -> None:
    """The API server applies new bounds to changes only; the operator accepts stored values."""
    names = [f"n{n}" for n in range(99)]
    hosts = {"key": "kubernetes.io/hostname", "operator": "In", "values": names}
    away = {"weight": 1, "podAffinityTerm": {"labelSelector": {}, "topologyKey": "zone"}}
    affinity = {
        "nodeAffinity": {
            REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [hosts]}]},
        },
        "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [away] * 17},
    }
    spread = {"maxSkew": 5000, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}
    found = pod(affinity=affinity, topologySpreadConstraints=[spread])["spec"]
    assert found["affinity"] == affinity
    assert found["topologySpreadConstraints"] == [spread]
