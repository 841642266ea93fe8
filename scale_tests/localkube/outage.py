"""A node that fails: its processes stop, and its link silently carries nothing.

Like a suspended virtual machine, it loses nothing that it held in memory.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from scale_tests.host.commands import ExpectedError
from scale_tests.localkube import cgroups, firewall
from scale_tests.localkube.firewall import CHAIN, remove_chains
from scale_tests.localkube.nodes import Node


def chain(node: Node) -> str:
    """The name of the chain that cuts a node off; `down` removes it with the cluster's others."""
    return f"{CHAIN}-OFF-{node.index}"


def rules(node: Node) -> str:
    """The iptables-restore script that isolates a node. Raises ExpectedError for the first."""
    if node.first:
        raise ExpectedError(f"{node.name} is this machine, with the control plane: choose another")
    lines = (
        "*filter",
        f":{chain(node)} - [0:0]",
        *(f"-A {chain(node)} {side} {node.interface} -j DROP" for side in ("-i", "-o")),
        # Before the rules that let established connections pass.
        *(f"-I {hook} -j {chain(node)}" for hook in ("INPUT", "FORWARD", "OUTPUT")),
        "COMMIT",
    )
    return "".join(f"{line}\n" for line in lines)


@contextmanager
def outage(node: Node) -> Iterator[None]:
    """Takes a node away while the block runs.

    Raises ExpectedError: it is the first node, or is away already; CommandError: no root, for
    example.
    """
    script = rules(node)
    if firewall.exists(chain(node)):
        raise ExpectedError(
            f"{node.name} is away already, in another run or in one that was killed: wait for it,"
            " or run `python -m scale_tests.localkube up`"
        )
    try:
        firewall.add(script)
        cgroups.freeze(node.cgroup)
        yield
    finally:
        end(node)


def end(node: Node) -> None:
    """Brings a node back; nothing happens to one that is there. Raises CommandError."""
    cgroups.thaw(node.cgroup)
    remove_chains("iptables", (chain(node),))
