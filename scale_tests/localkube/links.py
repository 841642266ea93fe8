"""The networks of further nodes: a namespace for each, on a routed link to the machine.

The machine is the router between the nodes, so that whatever passes from one to another passes
through its packet filter. All that is made here ends with the namespace, whose file is unmounted
with the cluster's other mounts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from scale_tests.host.commands import CommandError, capture
from scale_tests.localkube import waiting
from scale_tests.localkube.nodes import PORT, Node

GONE = ("Cannot find device", "No such device")
"""What `ip` says of an interface that is not there, or is gone before it can be deleted."""

FORWARDING = "echo 1 > /proc/sys/net/ipv4/ip_forward"


def machine_side(node: Node, gateway: str) -> str:
    """What the machine is to know of a further node, as a batch for `ip`.

    `gateway` is the machine's own address. The link has it too, as those of pods do: what the
    machine sends there, or sends on in its own name, then comes from it.
    """
    return f"""\
address replace {gateway}/32 dev {node.interface}
link set {node.interface} up
route replace {node.address}/32 dev {node.interface}
route replace {node.pods} via {node.address} dev {node.interface}
"""


def node_side(node: Node, gateway: str) -> str:
    """What a further node is to know of the rest, as a batch for `ip` in its namespace.

    Packets to a pod that is no more end there; by the default route they would go back to the
    machine, and to and fro until they are too old.
    """
    return f"""\
link set lo up
address replace {node.address}/32 dev {PORT}
link set {PORT} up
route replace {gateway}/32 dev {PORT}
route replace default via {gateway} dev {PORT}
route replace blackhole {node.pods}
"""


def connect(node: Node, gateway: str) -> None:
    """Makes a further node's namespace and its link, or what is missing of them.

    Raises CommandError: a program refuses.
    """
    node.run.mkdir(parents=True, exist_ok=True)
    if not os.path.ismount(node.namespace):
        node.namespace.touch()
        capture(["unshare", f"--net={node.namespace}", "true"])
    if not present(node):
        link = ["ip", "link", "add", node.interface, "type", "veth"]
        capture([*link, "peer", "name", PORT, "netns", str(node.namespace)])
    capture([*node.entrance, "ip", "-batch", "-"], stdin=node_side(node, gateway))
    capture([*node.entrance, "sh", "-c", FORWARDING])
    capture(["ip", "-batch", "-"], stdin=machine_side(node, gateway))


def disconnect(node: Node) -> None:
    """Removes a node's link, or waits until the kernel has, which does so with the namespace.

    Raises CommandError: `ip` refuses; waiting.TimedOutError: the link does not go.
    """

    def remaining() -> str:
        if not present(node):
            return ""
        delete([node.interface])
        return f"network interface {node.interface} remains"

    waiting.until_none(remaining, seconds=60)


def delete(interfaces: Iterable[str]) -> None:
    """Deletes network interfaces of the machine.

    The kernel removes them too, with the namespaces of their other ends: one may be gone by now.
    Raises CommandError.
    """
    batch = "".join(f"link delete {interface}\n" for interface in interfaces)
    try:
        capture(["ip", "-force", "-batch", "-"], stdin=batch)
    except CommandError as error:
        if not any(words in str(error) for words in GONE):
            raise


def present(node: Node) -> bool:
    """Whether the machine's interface of a node is there."""
    return Path("/sys/class/net", node.interface).exists()
