"""The parts that each node has for itself."""

from itertools import combinations

import pytest

from scale_tests.host.commands import ExpectedError
from scale_tests.localkube.nodes import named, nodes, possible
from scale_tests.localkube.settings import CGROUP, MAX_NODES, Settings

THREE = Settings(nodes=3)


def test_there_is_one_node_unless_more_are_asked_for() -> None:
    assert [node.name for node in nodes(Settings())] == ["localkube"]
    assert [node.name for node in nodes(THREE)] == ["localkube", "localkube-2", "localkube-3"]
    assert len(possible(Settings())) == MAX_NODES


@pytest.mark.parametrize("count", [0, 9])
def test_a_number_of_nodes_out_of_range_names_the_option(count: int) -> None:
    with pytest.raises(ExpectedError, match=r"--nodes is \d: choose 1 to 8"):
        Settings(nodes=count)


def test_the_first_node_is_the_same_however_many_there_are() -> None:
    assert nodes(Settings()) == nodes(THREE)[:1] == possible(THREE)[:1]
    first = nodes(THREE)[0]
    assert (str(first.pods), first.address) == ("10.203.0.0/20", THREE.node_address)
    assert (first.state, first.run, first.cgroup) == (THREE.state, THREE.run, CGROUP)
    assert first.configs == THREE.configs
    assert first.own("kubelet") == "kubelet"
    assert first.entrance == ()


def test_three_nodes_are_in_three_zones_and_more_are_in_them_too() -> None:
    assert [node.zone for node in nodes(THREE)] == ["zone-a", "zone-b", "zone-c"]
    assert {node.zone for node in possible(THREE)} == {"zone-a", "zone-b", "zone-c"}


def test_nodes_share_no_address_and_no_interface() -> None:
    found = possible(THREE)
    assert not any(one.pods.overlaps(other.pods) for one, other in combinations(found, 2))
    assert all(node.pods.num_addresses > 1200 for node in found)
    assert len({node.interface for node in found}) == MAX_NODES
    assert all(len(node.interface) <= 15 for node in found)  # the kernel's limit
    assert not any(node.pods.overlaps(THREE.service_network) for node in found)


def test_all_files_of_a_further_node_are_in_directories_that_down_removes() -> None:
    for node in nodes(THREE)[1:]:
        assert THREE.state in node.configs.parents
        assert THREE.run in node.namespace.parents
        assert THREE.run in node.containerd_socket.parents
        assert node.cgroup.startswith(f"{CGROUP}/")
        assert node.own("kubelet") == f"kubelet@{node.name}"
        assert node.entrance == ("nsenter", f"--net={node.namespace}", "--")


def test_a_node_is_found_by_its_name_and_another_name_is_refused() -> None:
    assert named(Settings(), "localkube-3") == nodes(THREE)[2]
    refusal = "no node 'ads-3': there may be localkube, localkube-2,"
    with pytest.raises(ExpectedError, match=refusal):
        named(THREE, "ads-3")
