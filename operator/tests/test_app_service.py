"""Ports of applications in the pods, and their Service."""

from typing import Any

from partisan_operator.children import app_service, desired_children, naming
from partisan_operator.models.pods import Pods
from world import cluster, manifest

PORTS: list[dict[str, Any]] = [
    {"name": "api", "port": 9000},
    {"name": "dns", "port": 5353, "protocol": "UDP"},
]


def container(**spec: Any) -> dict[str, Any]:
    found: dict[str, Any] = manifest("StatefulSet", **spec)["spec"]["template"]["spec"]
    (node,) = found["containers"]
    return dict(node)


def test_the_service_has_the_ports_and_selects_the_pods_of_all_shards() -> None:
    found = manifest("Service", "ads-app", replicas=300, pods={"ports": PORTS})
    assert found["spec"] == {
        "selector": {naming.CLUSTER_LABEL: "ads"},
        "ports": [
            {"name": "api", "port": 9000, "protocol": "TCP", "targetPort": 9000},
            {"name": "dns", "port": 5353, "protocol": "UDP", "targetPort": 5353},
        ],
    }
    # Else the operator would read its slices, which lag behind those of the shards, as addresses.
    assert naming.SHARD_LABEL not in found["metadata"]["labels"]


def test_there_is_no_service_without_ports() -> None:
    assert desired_children(cluster(), "node:1").find("Service", "ads-app") is None


def test_the_pods_declare_the_ports_after_their_own() -> None:
    assert container(pods={"ports": PORTS})["ports"] == container()["ports"] + [
        {"name": "api", "containerPort": 9000, "protocol": "TCP"},
        {"name": "dns", "containerPort": 5353, "protocol": "UDP"},
    ]


def test_the_network_policy_admits_everyone_to_the_ports() -> None:
    peers, everyone = manifest("NetworkPolicy", pods={"ports": PORTS})["spec"]["ingress"]
    assert [port["port"] for port in peers["ports"]] == [naming.PARTISAN_PORT]
    assert everyone == {
        "ports": [
            {"port": naming.HTTP_PORT, "protocol": "TCP"},
            {"port": 9000, "protocol": "TCP"},
            {"port": 5353, "protocol": "UDP"},
        ]
    }


def test_the_template_has_all_that_made_it() -> None:
    """So that an undo can restore it."""
    restored = app_service.from_template(container(pods={"ports": PORTS}))
    assert Pods.model_validate(restored) == Pods.model_validate({"ports": PORTS})
    assert app_service.from_template(container()) == {"ports": []}
