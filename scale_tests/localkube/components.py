"""The cluster's components: what each one runs, reads and answers, as pure functions.

They start in stages: those of one stage start together, once the previous stage is ready.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scale_tests.host.commands import ROOT
from scale_tests.host.templates import filled
from scale_tests.localkube import configs
from scale_tests.localkube.nodes import Node
from scale_tests.localkube.settings import CGROUP, CLUSTER_DOMAIN, PAUSE_IMAGE, Settings


@dataclass(frozen=True, kw_only=True)
class Component:
    """One process of the cluster."""

    name: str
    argv: Sequence[str]
    """The program's absolute path and its arguments."""

    stage: int
    """Its turn to start: 0 needs nothing, 1 needs etcd, 2 needs the API server and containerd."""

    ready: str
    """The URL that answers 200 once it works: `https://`, `http://`, or `unix://` for a socket
    that accepts."""

    files: Mapping[Path, str] = field(default_factory=dict)
    """The configuration files that it reads, by path."""

    identity: str = ""
    """Whose kubeconfig it reads, from the directory of configuration files."""

    tcp: Sequence[tuple[str, int]] = ()
    """The addresses and ports of the machine that it listens on."""

    cgroup: str = CGROUP
    """The control group of the node that it runs on."""


def components(
    settings: Settings, binaries: Path, containerd: Path, upstreams: Sequence[str]
) -> list[Component]:
    """All components by stage, those of the first node first.

    `binaries` holds the programs that were built, `containerd` is the machine's own, `upstreams`
    are the name servers of everything outside the cluster.
    """
    # A kubelet starts all its pods at once, and a machine can start 250. Hundreds more starve each
    # other until their requests to the runtime time out. Two processors keep up with 1.5 a second.
    pods_per_second, burst = (200, 400) if settings.max_pods <= 250 else (1.5, 32)
    # The cluster's zone has no cache: a pod's name resolves as soon as its address is known.
    servers = " ".join(upstreams)
    forwarding = configs.written("Corefile.upstreams", settings=settings, upstreams=servers)
    values: dict[str, Any] = {
        "settings": settings,
        "ports": settings.ports,
        "pki": settings.certificates,
        "domain": CLUSTER_DOMAIN,
        "root": ROOT,
        "python": sys.executable,
        "binaries": binaries,
        "containerd": containerd,
        "pods_per_second": pods_per_second,
        "burst": burst,
        "pause_image": PAUSE_IMAGE,
        "cni_network": configs.CNI_NETWORK,
        "cni_plugins": configs.CNI_PLUGINS,
        # With swap, the kubelet regards memory as full that could be swapped out. It therefore
        # evicts nothing: the kernel knows when no memory is left.
        "least_memory": "0%" if settings.zram_mib else "100Mi",
        "forwarding": forwarding if upstreams else "",
    }
    return [
        _component(entry, node, name=node.own(key), pod_logs=node.own("pods"), **values)
        for key, entry, node in configs.of_nodes("components.toml", settings)
    ]


def _component(entry: Mapping[str, Any], node: Node, **values: Any) -> Component:
    values["node"] = node
    found = filled(entry, **values)
    # In the namespace of a further node there is no other program in the way of a listener.
    listeners = (listener.rpartition(":") for listener in found.get("tcp", ()) if node.first)
    files = {Path(path): template for path, template in found.get("files", {}).items()}
    return Component(
        name=values["name"],
        stage=found["stage"],
        argv=[*node.entrance, *map(str, found["argv"])],
        ready=found["ready"],
        files={path: configs.written(of, path.suffix, **values) for path, of in files.items()},
        identity=found.get("identity", ""),
        tcp=[(address, int(port)) for address, _, port in listeners],
        cgroup=node.cgroup,
    )
