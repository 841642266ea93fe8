"""Cutting the pod network in two: packets between two sets of pods are dropped, silently.

That is what a failed switch does: nobody is told that a connection is gone. The rules stand in
chains of their own before all others, even those that let established connections pass. A packet
is looked up by its sender, then by its receiver, so that they grow with the number of pods and not
with the number of pairs. Everything but these pods, the machine and the operator among it, reaches
both sides.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from scale_tests.localkube.commands import run
from scale_tests.localkube.errors import LocalkubeError
from scale_tests.localkube.firewall import CHAIN, remove_chains

CUT = f"{CHAIN}-CUT"
"""The prefix of the chains of a cut; `down` removes them with the cluster's others."""


class PartitionError(LocalkubeError):
    """The two sides cannot be told apart, or the network is cut already."""


def rules(one: Collection[str], other: Collection[str]) -> str:
    """What separates these IPv4 addresses of pods from those, for iptables-restore.

    Raises:
        PartitionError: a side is empty, an address is on both sides, or is none.
    """
    if not one or not other or set(one) & set(other):
        raise PartitionError("a partition has two sides, each with pods that the other has not")
    return "\n".join(
        (
            "*filter",
            *(f":{CUT}{name} - [0:0]" for name in ("", "-A", "-B")),
            f"-I FORWARD -j {CUT}",
            *_passages("-A", one, other),
            *_passages("-B", other, one),
            "COMMIT\n",
        )
    )


def _passages(side: str, senders: Collection[str], receivers: Collection[str]) -> Iterator[str]:
    for address in sorted(senders):
        yield f"-A {CUT} -s {_address(address)} -g {CUT}{side}"
    for address in sorted(receivers):
        yield f"-A {CUT}{side} -d {_address(address)} -j DROP"


def _address(text: str) -> str:
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError as error:
        raise PartitionError(f"{text!r} is no IPv4 address of a pod") from error


@contextmanager
def cut(one: Collection[str], other: Collection[str]) -> Iterator[None]:
    """Keeps two sets of pods, by their addresses, from reaching each other for a while.

    Raises:
        PartitionError: as `rules`; or somebody has cut the network already.
        CommandError: the machine's programs refuse, for example because they need root.
    """
    script = rules(one, other)
    if is_cut():
        raise PartitionError(
            "the pod network is cut already, by another run or by one that was killed: wait for"
            " it, or run `python -m scale_tests.churn heal`"
        )
    try:
        run(["iptables-restore", "--noflush", "--wait"], stdin=script)
        yield
    finally:
        heal()


def is_cut() -> bool:
    """Whether some pods are kept from reaching others. Raises CommandError."""
    return f":{CUT} " in run(["iptables-save", "-t", "filter"])


def heal() -> None:
    """Lets all pods reach each other again; nothing happens where they do. Raises CommandError."""
    remove_chains("iptables", (CUT,))
