"""The machine's address, the kernel's settings for many pods, and the network's interfaces."""

import ipaddress
import json
from pathlib import Path

from scale_tests.host import files
from scale_tests.host.commands import capture
from scale_tests.localkube import firewall, links, waiting
from scale_tests.localkube.nodes import nodes, possible
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
    if not links.present(first):
        capture(["ip", "link", "add", first.interface, "type", "bridge"])
    capture(["ip", "address", "replace", f"{first.address}/32", "dev", first.interface])
    capture(["ip", "link", "set", first.interface, "up"])
    firewall.install(settings)
    for node in further:
        links.connect(node, first.address)


def restore(settings: Settings) -> None:
    """Undoes `prepare` and removes pods' interfaces, once processes and mounts are gone.

    Raises CommandError, or waiting.TimedOutError: an interface does not go.
    """
    firewall.remove()
    first, *further = possible(settings)

    def remaining() -> str:
        interfaces = pod_interfaces(capture(["ip", "-json", "route", "show"]), first.pods)
        if links.present(first):
            interfaces.append(first.interface)
        if interfaces:
            links.delete(interfaces)
        return f"network interfaces {', '.join(interfaces)} remain" if interfaces else ""

    waiting.until_none(remaining, seconds=300)
    for node in further:
        links.disconnect(node)
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
