"""The networks of further nodes: a namespace for each, on a routed link to the machine.

The machine routes between nodes, so that its packet filter sees all traffic. Everything ends with
the namespace.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from scale_tests.host.commands import CommandError, capture
from scale_tests.localkube import waiting
from scale_tests.localkube.nodes import PORT, Node

GONE = ("Cannot find device", "No such device")
"""Errors of `ip` for an interface that is not there, or is gone before it can be deleted."""


def machine_side(node: Node, gateway: str) -> str:
    """The machine's routes to a further node, as a batch for `ip`.

    The link has `gateway`, the machine's own address, so that packets from the machine carry it.
    """
    return f"""\
address replace {gateway}/32 dev {node.interface}
link set {node.interface} up
route replace {node.address}/32 dev {node.interface}
route replace {node.pods} via {node.address} dev {node.interface}
"""


def node_side(node: Node, gateway: str) -> str:
    """A further node's own routes, as a batch for `ip` in its namespace.

    The blackhole ends packets to removed pods, which would otherwise loop by the default route.
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
    """Creates the missing parts of a further node's namespace and link. Raises CommandError."""
    node.run.mkdir(parents=True, exist_ok=True)
    if not os.path.ismount(node.namespace):
        node.namespace.touch()
        capture(["unshare", f"--net={node.namespace}", "true"])
    if not present(node):
        link = ["ip", "link", "add", node.interface, "type", "veth"]
        capture([*link, "peer", "name", PORT, "netns", str(node.namespace)])
    capture([*node.entrance, "ip", "-batch", "-"], stdin=node_side(node, gateway))
    capture([*node.entrance, "sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"])
    capture(["ip", "-batch", "-"], stdin=machine_side(node, gateway))


def disconnect(node: Node) -> None:
    """Removes a node's link, unless the kernel has. Raises CommandError, waiting.TimedOutError."""

    def remaining() -> str:
        if not present(node):
            return ""
        delete([node.interface])
        return f"network interface {node.interface} remains"

    waiting.until_none(remaining, seconds=300)


def delete(interfaces: Iterable[str]) -> None:
    """Deletes network interfaces of the machine, unless the kernel has. Raises CommandError."""
    batch = "".join(f"link delete {interface}\n" for interface in interfaces)
    try:
        capture(["ip", "-force", "-batch", "-"], stdin=batch)
    except CommandError as error:
        if not any(words in str(error) for words in GONE):
            raise


def present(node: Node) -> bool:
    """Whether the machine's interface of a node is there."""
    return Path("/sys/class/net", node.interface).exists()
