"""Partitions the pod network: packets between two sets of pods or nodes are dropped.

Connections are not reset, as with a failed switch. The rules come before those that accept
established connections, and grow with the number of pods, not of pairs. Machine and operator reach
both sides.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from ipaddress import IPv4Network, collapse_addresses
from itertools import chain

from scale_tests.host import files
from scale_tests.host.commands import ExpectedError
from scale_tests.localkube import firewall
from scale_tests.localkube.firewall import CHAIN, remove_chains
from scale_tests.localkube.settings import cache_directory

CUT = f"{CHAIN}-CUT"
"""The prefix of the chains of a cut; `down` removes them with the cluster's others."""


def rules(one: Collection[str], other: Collection[str]) -> str:
    """The iptables-restore script that separates two sets of IPv4 addresses or ranges.

    Raises ExpectedError: a side is empty, the sides overlap, or an address is none.
    """
    sides = [_range(text) for text in one], [_range(text) for text in other]
    if not one or not other or _size(*sides) < _size(sides[0]) + _size(sides[1]):
        raise ExpectedError("a partition has two sides, each with pods that the other has not")
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
        raise ExpectedError(
            f"{text!r} is no IPv4 address of a pod, and no range of some"
        ) from error


def _size(*sides: Sequence[IPv4Network]) -> int:
    """The number of addresses on these sides; one on several counts once."""
    return sum(network.num_addresses for network in collapse_addresses(chain(*sides)))


@contextmanager
def cut(one: Collection[str], other: Collection[str]) -> Iterator[None]:
    """Separates two sets of pods, by addresses or ranges, while the block runs.

    Waits for the end of another run's cut. Raises ExpectedError: as `rules`, or a run that was
    killed left the network cut; CommandError: no root, for example.
    """
    script = rules(one, other)
    with files.locked(cache_directory() / "partition.lock"):
        if firewall.exists(CUT):
            raise ExpectedError(
                "the pod network is cut already, by a run that was killed: run"
                " `python -m scale_tests churn heal`"
            )
        try:
            firewall.add(script)
            yield
        finally:
            heal()


def heal() -> None:
    """Lets all pods reach each other again; nothing happens where they do. Raises CommandError."""
    remove_chains("iptables", (CUT,))
