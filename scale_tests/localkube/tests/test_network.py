"""Routes between the machine and a further node, and how a missing interface is recognized."""

from pathlib import Path

import pytest

from scale_tests.host.commands import CommandError
from scale_tests.localkube import network
from scale_tests.localkube.nodes import nodes
from scale_tests.localkube.settings import Settings

FIRST, SECOND, THIRD = nodes(Settings(nodes=3))


def test_the_machine_finds_a_nodes_pods_behind_the_node() -> None:
    assert network.machine_side(SECOND, FIRST.address).splitlines() == [
        "address replace 10.203.0.1/32 dev partisan1",
        "link set partisan1 up",
        "route replace 10.203.16.1/32 dev partisan1",
        "route replace 10.203.16.0/20 via 10.203.16.1 dev partisan1",
    ]


def test_a_node_finds_everything_but_its_own_pods_behind_the_machine() -> None:
    lines = network.node_side(THIRD, FIRST.address).splitlines()
    assert "route replace default via 10.203.0.1 dev eth0" in lines
    assert "route replace blackhole 10.203.32.0/20" in lines
    # The way to the router comes before the route that goes by it.
    assert lines.index("route replace 10.203.0.1/32 dev eth0") < lines.index(
        "route replace default via 10.203.0.1 dev eth0"
    )


def test_a_connected_node_is_configured_again_but_not_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = nodes(Settings(nodes=2, run=tmp_path))[1]
    commands: list[list[str]] = []
    monkeypatch.setattr(network, "capture", lambda argv, **_stdin: commands.append(list(argv)))
    # The machine may have a cluster with a node of this number.
    monkeypatch.setattr(network, "present", lambda _node: False)
    network.connect(node, FIRST.address)
    made = [argv for argv in commands if argv[0] == "unshare" or "add" in argv]
    assert [argv[0] for argv in made] == ["unshare", "ip"]
    assert made[1][-2:] == ["netns", str(node.namespace)]
    commands.clear()
    monkeypatch.setattr("os.path.ismount", lambda _path: True)
    monkeypatch.setattr(network, "present", lambda _node: True)
    network.connect(node, FIRST.address)
    assert [argv[-2:] for argv in commands if "-batch" in argv] == [["-batch", "-"]] * 2
    assert not any(argv[0] == "unshare" or "add" in argv for argv in commands)


@pytest.mark.parametrize("words", network.GONE)
def test_a_link_that_the_kernel_has_removed_meanwhile_is_gone(
    monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    present = iter([True, False])
    batches: list[str] = []

    def run(_argv: list[str], stdin: str) -> str:
        batches.append(stdin)
        raise CommandError(["ip"], 1, words)

    monkeypatch.setattr(network, "present", lambda _node: next(present))
    monkeypatch.setattr(network, "capture", run)
    network.disconnect(SECOND)
    assert batches == ["link delete partisan1\n"]


def test_an_interface_that_may_not_be_deleted_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_argv: list[str], stdin: str) -> str:
        raise CommandError(["ip"], 1, f"{stdin}: Operation not permitted")

    monkeypatch.setattr(network, "present", lambda _node: True)
    monkeypatch.setattr(network, "capture", run)
    with pytest.raises(CommandError, match="not permitted"):
        network.disconnect(SECOND)
