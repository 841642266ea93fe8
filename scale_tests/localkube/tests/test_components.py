"""The components' command lines."""

from pathlib import Path

import pytest

from scale_tests.localkube.certificates import identities
from scale_tests.localkube.components import Component, components
from scale_tests.localkube.nodes import nodes
from scale_tests.localkube.processes import digest
from scale_tests.localkube.settings import Settings

SETTINGS = Settings(nodes=3)
NODES = nodes(SETTINGS)
ALL = components(SETTINGS, Path("/bin-of-version"), Path("/usr/bin/containerd"), ["192.0.2.1"])
BY_NAME = {component.name: component for component in ALL}


def test_stages_are_in_order() -> None:
    stages = [component.stage for component in ALL]
    assert stages == sorted(stages)
    assert BY_NAME["etcd"].stage < BY_NAME["kube-apiserver"].stage < BY_NAME["kubelet"].stage


@pytest.mark.parametrize("component", ALL, ids=lambda component: component.name)
def test_every_component_listens_on_loopback_or_the_nodes_address(component: Component) -> None:
    assert {address for address, _port in component.tcp} <= {"127.0.0.1", SETTINGS.node_address}
    assert not any("0.0.0.0" in argument for argument in component.argv)


def test_every_node_has_a_kubelet_a_proxy_and_a_runtime_in_its_network_and_control_group() -> None:
    for node in NODES:
        for name in ("containerd", "kubelet", "kube-proxy"):
            component = BY_NAME[node.own(name)]
            assert component.cgroup == node.cgroup
            assert tuple(component.argv[: len(node.entrance)]) == node.entrance
            assert Path(component.argv[len(node.entrance)]).name == name
            assert bool(component.tcp) == (node.first and name != "containerd")
    assert len(BY_NAME) == len(ALL) == 9 + 2 * 3


def test_a_kubelet_says_which_node_it_is_and_in_which_zone() -> None:
    arguments = BY_NAME["kubelet@localkube-2"].argv
    assert "--hostname-override=localkube-2" in arguments
    assert "--node-ip=10.203.16.1" in arguments
    assert "--node-labels=topology.kubernetes.io/zone=zone-b" in arguments


def test_further_nodes_do_not_change_running_components() -> None:
    alone = components(Settings(), Path("/bin-of-version"), Path("/usr/bin/containerd"), [])
    now = components(SETTINGS, Path("/bin-of-version"), Path("/usr/bin/containerd"), [])
    digests = {component.name: digest(component) for component in now}
    assert all(digests[component.name] == digest(component) for component in alone)


def test_no_port_is_used_twice() -> None:
    listeners = [listener for component in ALL for listener in component.tcp]
    assert len(listeners) == len(set(listeners))


def test_every_certificate_that_a_component_names_is_made() -> None:
    made = {identity.file for identity in identities(SETTINGS)} | {"ca", "service-accounts"}
    arguments = [argument for component in ALL for argument in component.argv]
    named = {
        Path(argument.partition("=")[2]).stem
        for argument in arguments
        if f"={SETTINGS.certificates}/" in argument
    }
    assert named
    assert named <= made
    assert {component.identity for component in ALL if component.identity} <= made


def test_the_digest_changes_with_the_command_line_and_with_the_files() -> None:
    def of(max_pods: int, version: str) -> dict[str, str]:
        settings = Settings(max_pods=max_pods)
        found = components(settings, Path(version), Path("/usr/bin/containerd"), [])
        return {component.name: digest(component) for component in found}

    before, more_pods, newer = of(250, "/v1"), of(300, "/v1"), of(250, "/v2")
    assert {name for name in before if before[name] != more_pods[name]} == {
        "kubelet",
        "kube-scheduler",
    }
    assert {name for name in before if before[name] == newer[name]} == {"containerd", "provisioner"}
