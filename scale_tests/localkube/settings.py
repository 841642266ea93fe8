"""The local cluster's place on the machine: directories, addresses, ports, limits."""

import os
from dataclasses import dataclass, field
from ipaddress import IPv4Network
from pathlib import Path

from scale_tests.host.commands import ExpectedError

NODE_NAME = "localkube"
"""The name of the first node, and the prefix of the names of the others."""

MAX_NODES = 8
"""A power of two: the pod network is split in equal parts."""

CLUSTER_DOMAIN = "cluster.local"

PAUSE_IMAGE = "localhost/partisan/pause:1"
"""The image whose process holds a pod's namespaces open."""

CGROUP = "partisan-localkube"
"""The control group that holds every process of the cluster: `down` kills by it."""

RESERVED = "partisan.dev/reserved"
"""The taint of further nodes that are reserved: others' pods stay on the first one."""

MOST_PODS, MOST_ZRAM_MIB = 1200, 65536
"""The largest settings that may be chosen."""


@dataclass(frozen=True, kw_only=True)
class Ports:
    """TCP ports that the first node's components listen on, all but the first two on loopback."""

    apiserver: int = 6443
    kubelet: int = 10250
    etcd_client: int = 12379
    etcd_peer: int = 12380
    controller_manager: int = 10257
    scheduler: int = 10259
    kubelet_health: int = 10248
    proxy_health: int = 10256
    proxy_metrics: int = 10249
    dns_health: int = 18080
    dns_ready: int = 18181


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One local cluster. The defaults suit a machine that runs nothing else on these addresses."""

    state: Path = Path("/var/lib/partisan-localkube")
    """Certificates, configuration, etcd's data, containerd's content, logs. Gone after `down`."""

    run: Path = Path("/run/partisan-localkube")
    """Sockets, process records, mounts. Gone after `down` and after a reboot."""

    interfaces: str = "partisan"
    """The prefix of the names of the nodes' network interfaces."""

    pod_network: IPv4Network = field(default=IPv4Network("10.203.0.0/17"))
    """Addresses of pods and nodes: an eighth for each node that there may be."""

    service_network: IPv4Network = field(default=IPv4Network("10.203.240.0/20"))
    """Virtual addresses of Services; the first one is that of the Service `kubernetes`."""

    max_pods: int = 250
    """Pods that each kubelet accepts; 10 to 1,200."""

    nodes: int = 1
    """Number of nodes; 1 to 8. The first is the machine itself."""

    reserved: bool = False
    """Whether pods run on further nodes only if they tolerate `RESERVED`."""

    zram_mib: int = 0
    """Compressed swap in memory, in MiB before compression; 0 is none."""

    ports: Ports = field(default_factory=Ports)

    def __post_init__(self) -> None:
        """Refuses limits that the address range or the kubelet cannot serve."""
        if not 10 <= self.max_pods <= MOST_PODS:
            raise ExpectedError(f"--max-pods is {self.max_pods}: choose 10 to {MOST_PODS}")
        if not 0 <= self.zram_mib <= MOST_ZRAM_MIB:
            raise ExpectedError(
                f"--zram-mib is {self.zram_mib}: choose 0 (none) to {MOST_ZRAM_MIB}"
            )
        if not 1 <= self.nodes <= MAX_NODES:
            raise ExpectedError(f"--nodes is {self.nodes}: choose 1 to {MAX_NODES}")

    @property
    def node_address(self) -> str:
        """The first node's address: the API server, its kubelet and the resolver listen on it."""
        return str(self.pod_network[1])

    @property
    def server(self) -> str:
        """The API server's URL."""
        return f"https://{self.node_address}:{self.ports.apiserver}"

    @property
    def certificates(self) -> Path:
        """The directory of the certificate authority, the certificates and the keys."""
        return self.state / "pki"

    @property
    def configs(self) -> Path:
        """The directory of the components' configuration files."""
        return self.state / "config"

    @property
    def logs(self) -> Path:
        """The directory with one log per component."""
        return self.state / "logs"

    @property
    def records(self) -> Path:
        """The directory with one record per running component: its process and its digest."""
        return self.run / "processes"

    @property
    def provisioner_socket(self) -> Path:
        """The socket on which the provisioner of volumes accepts."""
        return self.run / "provisioner.sock"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig, readable by root alone."""
        return self.state / "admin.kubeconfig"


def cache_directory() -> Path:
    """The user's cache of binaries and images, shared by checkouts."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "partisan"
