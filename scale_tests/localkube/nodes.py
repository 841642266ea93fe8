"""The cluster's nodes: their files, addresses and control groups.

The first is the machine itself. Each further one is a network namespace on a routed link, with its
own kubelet, kube-proxy, containerd, pod addresses and packet filter; processors, memory and file
system are the machine's.
"""

import ipaddress
from dataclasses import dataclass
from pathlib import Path

from scale_tests.host.commands import ExpectedError
from scale_tests.localkube.settings import CGROUP, MAX_NODES, NODE_NAME, RESERVED, Settings

ZONES = ("zone-a", "zone-b", "zone-c")
"""Nodes are dealt out to these in turn."""

ZONE_LABEL = "topology.kubernetes.io/zone"

PORT = "eth0"
"""The name, in a further node's namespace, of its end of the link."""


@dataclass(frozen=True, kw_only=True)
class Node:
    """One node."""

    index: int
    """1 is the machine itself."""

    name: str
    zone: str

    reserved: bool
    """Whether it has the taint `RESERVED` from its registration on."""

    pods: ipaddress.IPv4Network
    """Addresses of its pods; the first one is its own."""

    state: Path
    """Configuration, containerd's content, volumes."""

    run: Path
    """Sockets, addresses in use, mounts."""

    cgroup: str
    """The control group that holds its processes and pods, below each hierarchy's mount."""

    interface: str
    """On the machine: of the first node the bridge that carries its address, of a further one the
    machine's end of the link to it.

    The bridge has no ports: pods are routed, not bridged, because a bridge ends at 1,024 ports, and
    because every pair of bridged pods that talks takes an entry of the machine's neighbour table,
    which a full mesh of 40 pods already fills."""

    @property
    def first(self) -> bool:
        """Whether it is the machine itself, on which the control plane runs too."""
        return self.index == 1

    @property
    def address(self) -> str:
        """Its kubelet listens on it."""
        return str(self.pods[1])

    @property
    def taints(self) -> list[dict[str, str]]:
        """The taints with which it registers."""
        return [{"key": RESERVED, "effect": "NoSchedule"}] if self.reserved else []

    @property
    def health_address(self) -> str:
        """The address of its components' health checks: loopback, where the machine reaches it."""
        return "127.0.0.1" if self.first else self.address

    @property
    def namespace(self) -> Path:
        """The file that holds a further node's network namespace open."""
        return self.run / "netns"

    @property
    def entrance(self) -> tuple[str, ...]:
        """The beginning of a command line that is to run in the node's network."""
        return () if self.first else ("nsenter", f"--net={self.namespace}", "--")

    @property
    def containerd_socket(self) -> Path:
        """The socket of its containerd."""
        return self.run / "containerd.sock"

    @property
    def configs(self) -> Path:
        """The directory of what its components read."""
        return self.state / "config"

    def own(self, name: str) -> str:
        """The name of this node's one of what every node has: `kubelet`, `kubelet@localkube-2`."""
        return name if self.first else f"{name}@{self.name}"


def nodes(settings: Settings) -> list[Node]:
    """The nodes that the settings ask for, the first one first."""
    return possible(settings)[: settings.nodes]


def possible(settings: Settings) -> list[Node]:
    """The nodes that there may be, whether the settings ask for them or not."""
    ranges = settings.pod_network.subnets(MAX_NODES.bit_length() - 1)
    return [_node(settings, index, pods) for index, pods in enumerate(ranges, start=1)]


def named(settings: Settings, name: str) -> Node:
    """The node of a name, whether it is up or not. Raises ExpectedError: none has it."""
    found = {candidate.name: candidate for candidate in possible(settings)}
    if name not in found:
        raise ExpectedError(f"there is no node {name!r}: there may be {', '.join(found)}")
    return found[name]


def _node(settings: Settings, index: int, pods: ipaddress.IPv4Network) -> Node:
    name = NODE_NAME if index == 1 else f"{NODE_NAME}-{index}"
    own = Path() if index == 1 else Path("nodes", name)
    return Node(
        index=index,
        name=name,
        zone=ZONES[(index - 1) % len(ZONES)],
        reserved=settings.reserved and index > 1,
        pods=pods,
        state=settings.state / own,
        run=settings.run / own,
        cgroup=CGROUP if index == 1 else f"{CGROUP}/{name}",
        interface=f"{settings.interfaces}{index - 1}",
    )
