"""The machine's address, the kernel's settings for many pods, and the networks of further nodes.

Each of these is a namespace on a routed link to the machine. The machine routes between nodes, so
that its packet filter sees all traffic. Everything of a node ends with its namespace.
"""

import ipaddress
import json
import os
from collections.abc import Callable
from pathlib import Path

from scale_tests.host import files
from scale_tests.host.commands import CommandError, capture
from scale_tests.localkube import firewall, waiting
from scale_tests.localkube.nodes import PORT, Node, nodes, possible
from scale_tests.localkube.settings import Settings

AT_LEAST = {
    "net/ipv4/ip_forward": 1,
    # Two neighbours per pod, its own and the machine's; past the third limit packets are lost.
    "net/ipv4/neigh/default/gc_thresh1": 4096,
    "net/ipv4/neigh/default/gc_thresh2": 8192,
    "net/ipv4/neigh/default/gc_thresh3": 16384,
    # Some 30 threads and a few watches per pod.
    "kernel/pid_max": 262144,
    "fs/inotify/max_user_instances": 8192,
    "fs/inotify/max_user_watches": 524288,
}
"""Kernel settings, raised to these values where they are lower."""

CHANGED_BY_KUBELET = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)
"""Kernel settings that the kubelet changes when it starts."""

SYSCTLS, SAVED = Path("/proc/sys"), "sysctls.json"

GONE = ("Cannot find device", "No such device")
"""Errors of `ip` for an interface that is not there, or is gone before it can be deleted."""


def prepare(settings: Settings) -> None:
    """Sets up the machine's address, kernel settings, packet filter and links.

    Notes the previous settings for `restore`. Raises CommandError.
    """
    saved = settings.state / SAVED
    if not saved.exists():
        names = [name for name in (*AT_LEAST, *CHANGED_BY_KUBELET) if (SYSCTLS / name).exists()]
        values = {name: (SYSCTLS / name).read_text().strip() for name in names}
        files.replace(saved, json.dumps(values))
    for name, value in AT_LEAST.items():
        path = SYSCTLS / name
        if int(path.read_text()) < value:
            path.write_text(str(value))
    first, *further = nodes(settings)
    if not present(first):
        capture(["ip", "link", "add", first.interface, "type", "bridge"])
    capture(["ip", "address", "replace", f"{first.address}/32", "dev", first.interface])
    capture(["ip", "link", "set", first.interface, "up"])
    firewall.install(settings)
    for node in further:
        connect(node, first.address)


def restore(settings: Settings) -> None:
    """Undoes `prepare` and removes pods' interfaces, once processes and mounts are gone.

    Raises CommandError, or waiting.TimedOutError: an interface does not go.
    """
    firewall.remove()
    members = possible(settings)

    def interfaces() -> list[str]:
        routes = capture(["ip", "-json", "route", "show"])
        own = [node.interface for node in members if present(node)]
        return pod_interfaces(routes, members[0].pods) + own

    _delete(interfaces)
    saved = settings.state / SAVED
    if saved.exists():
        for name, value in json.loads(saved.read_text()).items():
            if (SYSCTLS / name).read_text().strip() != value:
                (SYSCTLS / name).write_text(value)


def pod_interfaces(routes: str, pods: ipaddress.IPv4Network) -> list[str]:
    """The machine's ends of pods' interfaces, from the JSON of `ip route show`."""
    return [
        route["dev"]
        for route in json.loads(routes)
        if route["dst"] != "default"
        and "/" not in route["dst"]
        and ipaddress.IPv4Address(route["dst"]) in pods
        and route.get("dev", "").startswith("veth")
    ]


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
    _delete(lambda: [node.interface] if present(node) else [])


def present(node: Node) -> bool:
    """Whether the machine's interface of a node is there."""
    return Path("/sys/class/net", node.interface).exists()


def _delete(listed: Callable[[], list[str]]) -> None:
    """Deletes network interfaces of the machine until none is listed; the kernel deletes some."""

    def remaining() -> str:
        interfaces = listed()
        if not interfaces:
            return ""
        batch = "".join(f"link delete {interface}\n" for interface in interfaces)
        try:
            capture(["ip", "-force", "-batch", "-"], stdin=batch)
        except CommandError as error:
            if not any(words in str(error) for words in GONE):
                raise
        return f"network interfaces {', '.join(interfaces)} remain"

    waiting.until_none(remaining, seconds=300)
