"""The packet filter's rules that cut the pod network in two."""

import pytest

from scale_tests.host.commands import ExpectedError
from scale_tests.localkube import firewall, partition
from scale_tests.localkube.nodes import nodes
from scale_tests.localkube.settings import Settings

ONE, OTHER = ("10.203.0.2", "10.203.0.3"), ("10.203.0.4", "10.203.0.5")


def test_packets_are_dropped_between_the_sides_in_both_directions() -> None:
    lines = partition.rules(ONE, OTHER).splitlines()
    assert lines[0] == "*filter"
    assert lines[-1] == "COMMIT"
    assert f"-I FORWARD -j {partition.CUT}" in lines
    assert f"-A {partition.CUT} -s 10.203.0.2/32 -g {partition.CUT}-A" in lines
    assert f"-A {partition.CUT}-A -d 10.203.0.4/32 -j DROP" in lines
    assert f"-A {partition.CUT} -s 10.203.0.5/32 -g {partition.CUT}-B" in lines
    assert f"-A {partition.CUT}-B -d 10.203.0.3/32 -j DROP" in lines


def test_there_are_as_many_rules_as_pods_and_not_as_pairs() -> None:
    one = [f"10.203.1.{index}" for index in range(100)]
    other = [f"10.203.2.{index}" for index in range(100)]
    rules = partition.rules(one, other).splitlines()
    assert sum(line.startswith("-A ") for line in rules) == 2 * (100 + 100)


def test_removal_finds_all_of_it_and_nothing_else() -> None:
    saved = partition.rules(ONE, OTHER).replace("-I ", "-A ")
    removal = firewall.removal(saved, (partition.CUT,))
    assert removal.count("-X ") == 3
    assert [line for line in removal.splitlines() if line.startswith("-D")] == [
        f"-D FORWARD -j {partition.CUT}"
    ]
    assert firewall.removal("*filter\n:FORWARD ACCEPT [0:0]\nCOMMIT\n", (partition.CUT,)) == ""


@pytest.mark.parametrize(
    ("one", "other"),
    [((), OTHER), (ONE, ()), (ONE, (*OTHER, ONE[0])), (ONE, ("10.203.0.0/20",))],
)
def test_two_sides_are_two_sides(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    with pytest.raises(ExpectedError, match="two sides"):
        partition.rules(one, other)


def test_an_address_that_is_none_is_named() -> None:
    with pytest.raises(ExpectedError, match="'ads-0' is no IPv4 address"):
        partition.rules(("ads-0",), OTHER)


def test_nodes_are_cut_off_with_all_addresses_of_their_pods(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _first, second, third = nodes(Settings(nodes=3))
    scripts: list[str] = []

    def run(_argv: list[str], stdin: str = "") -> str:
        scripts.append(stdin)
        return ""

    monkeypatch.setattr(firewall, "capture", run)
    monkeypatch.setattr(partition, "heal", lambda: scripts.append("healed"))
    with partition.cut([str(second.pods)], [str(third.pods)]):
        assert f"-A {partition.CUT} -s 10.203.16.0/20 -g {partition.CUT}-A\n" in scripts[-1]
        assert f"-A {partition.CUT}-A -d 10.203.32.0/20 -j DROP\n" in scripts[-1]
        assert "10.203.0." not in scripts[-1]
    assert scripts[-1] == "healed"


def test_a_network_that_is_cut_is_not_cut_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firewall, "capture", lambda _argv: f":{partition.CUT} - [0:0]\n")
    with pytest.raises(ExpectedError, match="is cut already"):
        partition.cut(ONE, OTHER).__enter__()
