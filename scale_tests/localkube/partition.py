"""Cutting the pod network in two: packets between two sets of pods, or of nodes, are dropped.

That is what a failed switch does: nobody is told that a connection is gone. The rules stand in
chains of their own before all others, even those that let established connections pass. A packet
is looked up by its sender, then by its receiver, so that they grow with the number of pods and not
with the number of pairs. Everything but these pods, the machine and the operator among it, reaches
both sides: the control plane knows of no partition.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from ipaddress import IPv4Network, collapse_addresses
from itertools import chain

from scale_tests.host.commands import capture
from scale_tests.localkube.errors import LocalkubeError
from scale_tests.localkube.firewall import CHAIN, remove_chains
from scale_tests.localkube.nodes import Node

CUT = f"{CHAIN}-CUT"
"""The prefix of the chains of a cut; `down` removes them with the cluster's others."""


class PartitionError(LocalkubeError):
    """The two sides cannot be told apart, or the network is cut already."""


def rules(one: Collection[str], other: Collection[str]) -> str:
    """What separates these IPv4 addresses, or ranges, of pods from those, for iptables-restore.

    Raises PartitionError: a side is empty, an address is on both sides, or is none.
    """
    sides = [_range(text) for text in one], [_range(text) for text in other]
    if not one or not other or _size(*sides) < _size(sides[0]) + _size(sides[1]):
        raise PartitionError("a partition has two sides, each with pods that the other has not")
    return "\n".join(
        (
            "*filter",
            *(f":{CUT}{name} - [0:0]" for name in ("", "-A", "-B")),
            f"-I FORWARD -j {CUT}",
            *_passages("-A", *sides),
            *_passages("-B", *reversed(sides)),
            "COMMIT\n",
        )
    )


def _passages(
    side: str, senders: Iterable[IPv4Network], receivers: Iterable[IPv4Network]
) -> Iterator[str]:
    for network in sorted(senders):
        yield f"-A {CUT} -s {network} -g {CUT}{side}"
    for network in sorted(receivers):
        yield f"-A {CUT}{side} -d {network} -j DROP"


def _range(text: str) -> IPv4Network:
    try:
        return IPv4Network(text)
    except ValueError as error:
        raise PartitionError(
            f"{text!r} is no IPv4 address of a pod, and no range of some"
        ) from error


def _size(*sides: Sequence[IPv4Network]) -> int:
    """The number of addresses on these sides; one on several counts once."""
    return sum(network.num_addresses for network in collapse_addresses(chain(*sides)))


@contextmanager
def cut(one: Collection[str], other: Collection[str]) -> Iterator[None]:
    """Keeps two sets of pods, by their addresses or ranges, from reaching each other for a while.

    Raises PartitionError: as `rules`; or somebody has cut the network already; CommandError: the
    machine's programs refuse, for example because they need root.
    """
    script = rules(one, other)
    if is_cut():
        raise PartitionError(
            "the pod network is cut already, by another run or by one that was killed: wait for"
            " it, or run `python -m scale_tests churn heal`"
        )
    try:
        capture(["iptables-restore", "--noflush", "--wait"], stdin=script)
        yield
    finally:
        heal()


def cut_nodes(one: Iterable[Node], other: Iterable[Node]) -> AbstractContextManager[None]:
    """As `cut`, with all pods that are, or come to be, on these nodes and on those."""
    return cut([str(node.pods) for node in one], [str(node.pods) for node in other])


def is_cut() -> bool:
    """Whether some pods are kept from reaching others. Raises CommandError."""
    return f":{CUT} " in capture(["iptables-save", "-t", "filter"])


def heal() -> None:
    """Lets all pods reach each other again; nothing happens where they do. Raises CommandError."""
    remove_chains("iptables", (CUT,))
