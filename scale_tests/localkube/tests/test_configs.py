"""The settings in configuration files on which the cluster relies."""

import json
import tomllib
from pathlib import Path

import pytest

from scale_tests.host.commands import ExpectedError
from scale_tests.localkube import configs
from scale_tests.localkube.components import components
from scale_tests.localkube.nodes import Node, nodes
from scale_tests.localkube.settings import RESERVED, Settings

SETTINGS = Settings(max_pods=300, nodes=3)
FIRST, SECOND, THIRD = NODES = nodes(SETTINGS)


def written(file: str, node: Node, settings: Settings = SETTINGS, upstreams: str = "") -> str:
    """The text of a file of a node's component."""
    found = components(settings, Path("/bin"), Path("/containerd"), upstreams.split())
    return next(c.files[node.configs / file] for c in found if node.configs / file in c.files)


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.name)
def test_containerd_keeps_everything_below_the_nodes_directories(node: Node) -> None:
    config = tomllib.loads(written("containerd.toml", node))
    runc = config["plugins"]["io.containerd.grpc.v1.cri"]["containerd"]["runtimes"]["runc"]
    paths = [
        config["root"],
        config["state"],
        config["grpc"]["address"],
        config["plugins"]["io.containerd.internal.v1.opt"]["path"],
        runc["options"]["Root"],
        config["plugins"]["io.containerd.grpc.v1.cri"]["cni"]["conf_dir"],
    ]
    assert all(path.startswith((f"{node.state}/", f"{node.run}/")) for path in paths)
    assert config["plugins"]["io.containerd.grpc.v1.cri"]["netns_mounts_under_state_dir"]


@pytest.mark.parametrize(
    ("node", "pods", "gateway"),
    [(FIRST, "10.203.0.0/20", "10.203.0.1"), (THIRD, "10.203.32.0/20", "10.203.32.1")],
)
def test_the_pods_gateway_is_the_nodes_address(node: Node, pods: str, gateway: str) -> None:
    plugin = json.loads(written("cni/10-pods.conflist", node))["plugins"][0]
    # host-local gives the first address of the subnet to the gateway when none is named.
    assert plugin["ipam"]["ranges"] == [[{"subnet": pods}]]
    assert node.address == gateway


@pytest.mark.parametrize("node", NODES, ids=lambda node: node.name)
def test_a_kubelet_takes_the_settings_limit_and_never_collects_images(node: Node) -> None:
    config = json.loads(written("kubelet.json", node))
    assert config["maxPods"] == 300
    assert config["imageGCHighThresholdPercent"] == 100
    assert config["clusterDNS"] == [SETTINGS.node_address]


def test_only_further_nodes_are_reserved_for_pods_that_tolerate_it() -> None:
    def taints(settings: Settings) -> list[list[str]]:
        found = [json.loads(written("kubelet.json", node, settings)) for node in nodes(settings)]
        return [[taint["key"] for taint in each["registerWithTaints"]] for each in found]

    assert taints(Settings(nodes=2)) == [[], []]
    assert taints(Settings(nodes=2, reserved=True)) == [[], [RESERVED]]


def test_nodes_share_no_control_group_no_socket_and_no_directory_of_logs() -> None:
    found = [json.loads(written("kubelet.json", node)) for node in NODES]
    # A kubelet removes the logs of pods that it does not know.
    for field in ("address", "cgroupRoot", "containerRuntimeEndpoint", "podLogsDir", "tlsCertFile"):
        assert len({config[field] for config in found}) == len(NODES)


def test_a_further_nodes_health_is_asked_for_at_its_address() -> None:
    for node, address in ((FIRST, "127.0.0.1"), (SECOND, "10.203.16.1")):
        assert json.loads(written("kubelet.json", node))["healthzBindAddress"] == address
        proxy = json.loads(written("kube-proxy.json", node))
        assert proxy["healthzBindAddress"] == f"{address}:{SETTINGS.ports.proxy_health}"
        assert proxy["clusterCIDR"] == "10.203.0.0/17"


def test_a_denied_name_of_the_cluster_is_never_cached() -> None:
    cluster_zone, _, rest = written("Corefile", FIRST, upstreams="192.0.2.1").partition("\n}\n")
    assert cluster_zone.startswith("cluster.local:53")
    assert "cache" not in cluster_zone
    assert "forward . 192.0.2.1\n" in rest


def test_without_name_servers_only_the_clusters_names_are_answered() -> None:
    corefile = written("Corefile", FIRST)
    assert "forward" not in corefile
    assert ".:53 {" not in corefile


@pytest.mark.parametrize(
    ("resolv_conf", "expected"),
    [
        ("", []),
        ("# none\nsearch example.org\nnameserver\n", []),
        ("nameserver 192.0.2.1\nnameserver 2001:db8::1 # two\n", ["192.0.2.1", "2001:db8::1"]),
        (
            "".join(f"nameserver 192.0.2.{n}\n" for n in range(5)),
            [f"192.0.2.{n}" for n in (0, 1, 2)],
        ),
    ],
)
def test_name_servers_are_read_from_resolv_conf(resolv_conf: str, expected: list[str]) -> None:
    assert configs.name_servers(resolv_conf) == expected


def test_the_kubelet_evicts_no_pod_while_there_is_swap() -> None:
    def evicts(settings: Settings) -> str:
        return str(
            json.loads(written("kubelet.json", FIRST, settings))["evictionHard"]["memory.available"]
        )

    assert evicts(SETTINGS) == "100Mi"
    assert evicts(Settings(zram_mib=1024)) == "0%"


@pytest.mark.parametrize("max_pods", [-1, 9, 1201])
def test_a_pod_limit_out_of_range_names_the_option(max_pods: int) -> None:
    with pytest.raises(ExpectedError, match=r"--max-pods is .*: choose 10 to 1200"):
        Settings(max_pods=max_pods)
