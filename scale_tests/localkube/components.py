"""The cluster's components: what each one runs, reads and answers, as pure functions.

They start in stages: those of one stage start together, once the previous stage is ready.
"""

import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from scale_tests.host.commands import ROOT
from scale_tests.host.templates import filled
from scale_tests.localkube import configs
from scale_tests.localkube.nodes import Node, nodes
from scale_tests.localkube.settings import CGROUP, CLUSTER_DOMAIN, PAUSE_IMAGE, Settings

TABLE = configs.TEMPLATES / "components.toml"

AT_ONCE = 250
"""Pods that a machine can start at once."""


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
    members = nodes(settings)
    return [
        _component(key, entry, settings, node, upstreams, binaries=binaries, containerd=containerd)
        for key, entry in tomllib.loads(TABLE.read_text()).items()
        for node in (members if entry.get("each_node") else members[:1])
    ]


def _component(
    key: str,
    entry: Mapping[str, Any],
    settings: Settings,
    node: Node,
    upstreams: Sequence[str],
    **programs: Path,
) -> Component:
    pods_per_second, burst = _pace(settings)
    values: dict[str, Any] = {
        "name": node.own(key),
        "node": node,
        "settings": settings,
        "ports": settings.ports,
        "pki": settings.certificates,
        "domain": CLUSTER_DOMAIN,
        "root": ROOT,
        "python": sys.executable,
        "pods_per_second": pods_per_second,
        "burst": burst,
        "pod_logs": node.own("pods"),
        "pause_image": PAUSE_IMAGE,
        "cni_network": configs.CNI_NETWORK,
        "cni_plugins": configs.CNI_PLUGINS,
        # With swap, the kubelet regards memory as full that could be swapped out. It therefore
        # evicts nothing: the kernel knows when no memory is left.
        "least_memory": "0%" if settings.zram_mib else "100Mi",
        "forwarding": _forwarding(settings, upstreams),
        **programs,
    }
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


def _forwarding(settings: Settings, upstreams: Sequence[str]) -> str:
    """The part of CoreDNS's configuration by which other name servers resolve all other names.

    The cluster's zone has no cache: a pod's name resolves as soon as its address is known.
    """
    if not upstreams:
        return ""
    servers = " ".join(upstreams)
    return configs.written("Corefile.upstreams", settings=settings, upstreams=servers)


def _pace(settings: Settings) -> tuple[float, int]:
    """The pods that the scheduler binds per second and at once: as they start, where they are many.

    A kubelet starts all its pods at once. Hundreds of them starve each other until their requests
    to the runtime time out. Two processors keep up with 1.5 a second.
    """
    return (200, 400) if settings.max_pods <= AT_ONCE else (1.5, 32)
