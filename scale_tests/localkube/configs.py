"""The configuration files of the components: `templates`, filled in from the settings.

Kubernetes reads JSON wherever it reads YAML, so the standard library is enough.
"""

from __future__ import annotations

import base64
import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scale_tests.host.templates import filled
from scale_tests.localkube.nodes import Node
from scale_tests.localkube.settings import CLUSTER_DOMAIN, PAUSE_IMAGE, Settings

TEMPLATES = Path(__file__).with_name("templates")

CNI_NETWORK = "partisan-localkube"
"""The name of the pod network, which also begins the names of CNI's own records."""

CNI_PLUGINS = Path("/usr/lib/cni")
"""The directory of Debian's containernetworking-plugins."""


def containerd(node: Node) -> str:
    """Containerd's configuration: an instance of our own, independent of any other."""
    return _text("containerd.toml", node=node, pause_image=PAUSE_IMAGE, cni_plugins=CNI_PLUGINS)


def cni(node: Node) -> str:
    """A node's part of the pod network."""
    return _json("cni.toml", node=node, cni_network=CNI_NETWORK)


def kubelet(settings: Settings, node: Node) -> str:
    """The kubelet's configuration.

    With swap, the kubelet regards memory as full that could be swapped out. It therefore evicts
    nothing: the kernel knows when no memory is left.
    """
    return _json(
        "kubelet.toml",
        settings=settings,
        ports=settings.ports,
        pki=settings.certificates,
        node=node,
        name=node.own("kubelet"),
        pod_logs=node.own("pods"),
        domain=CLUSTER_DOMAIN,
        least_memory="0%" if settings.zram_mib else "100Mi",
    )


def kube_proxy(settings: Settings, node: Node) -> str:
    """kube-proxy's configuration."""
    return _json("kube-proxy.toml", settings=settings, ports=settings.ports, node=node)


def corefile(settings: Settings, upstreams: Sequence[str]) -> str:
    """CoreDNS's configuration; `upstreams` are addresses that resolve all other names.

    The cluster's zone has no cache: a pod's name resolves as soon as its address is known.
    """
    zone = _text("Corefile", settings=settings, ports=settings.ports, domain=CLUSTER_DOMAIN)
    if not upstreams:
        return zone
    return zone + _text("Corefile.upstreams", settings=settings, upstreams=" ".join(upstreams))


def kubeconfig(settings: Settings, identity: str) -> str:
    """The kubeconfig of a certificate's owner, as JSON with embedded certificates."""

    def embedded(name: str) -> str:
        return base64.b64encode((settings.certificates / name).read_bytes()).decode()

    return _json(
        "kubeconfig.toml",
        settings=settings,
        identity=identity,
        authority=embedded("ca.crt"),
        certificate=embedded(f"{identity}.crt"),
        key=embedded(f"{identity}.key"),
    )


def addons() -> dict[str, Any]:
    """Objects to apply by their API paths: rights beyond components' roles, the StorageClass."""
    return tomllib.loads((TEMPLATES / "addons.toml").read_text())


def name_servers(resolv_conf: str) -> list[str]:
    """The addresses that the text of a resolv.conf names, at most the three that are used."""
    words = [line.split() for line in resolv_conf.splitlines()]
    return [line[1] for line in words if len(line) > 1 and line[0] == "nameserver"][:3]


def _text(template: str, **values: Any) -> str:
    return (TEMPLATES / template).read_text().format(**values)


def _json(template: str, **values: Any) -> str:
    document = tomllib.loads((TEMPLATES / template).read_text())
    return json.dumps(filled(document, **values), indent=2, default=str) + "\n"
