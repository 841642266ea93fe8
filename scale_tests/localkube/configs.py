"""The configuration files of the components, as pure functions of the settings.

Kubernetes reads JSON wherever it reads YAML, so the standard library is enough.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from scale_tests.localkube.nodes import Node
from scale_tests.localkube.settings import CLUSTER_DOMAIN, PAUSE_IMAGE, Settings

CNI_NETWORK = "partisan-localkube"
"""The name of the pod network, which also begins the names of CNI's own records."""

CNI_PLUGINS = Path("/usr/lib/cni")
"""Where Debian's containernetworking-plugins are."""


def containerd(node: Node) -> str:
    """Containerd's configuration: an instance of our own, beside any other on the machine."""
    return f"""\
version = 2
root = "{node.state}/containerd"
state = "{node.run}/containerd"
# Unprivileged machines refuse a negative score.
oom_score = 0
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs",
]

[grpc]
  address = "{node.containerd_socket}"

[plugins."io.containerd.internal.v1.opt"]
  path = "{node.state}/containerd/opt"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  stream_server_address = "127.0.0.1"

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "runc"
        Root = "{node.run}/runc"
        SystemdCgroup = false

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{CNI_PLUGINS}"
    conf_dir = "{node.configs}/cni"
    max_conf_num = 1
"""


def cni(node: Node) -> str:
    """A node's part of the pod network: a routed pair of interfaces for each pod."""
    return _json(
        {
            "cniVersion": "1.0.0",
            "name": CNI_NETWORK,
            "plugins": [
                {
                    "type": "ptp",
                    # The firewall rules of `network` masquerade for all pods at once; the
                    # plugin would add a chain for each.
                    "ipMasq": False,
                    "ipam": {
                        "type": "host-local",
                        "ranges": [[{"subnet": str(node.pods)}]],
                        "routes": [{"dst": "0.0.0.0/0"}],
                        "dataDir": str(node.run / "ipam"),
                    },
                }
            ],
        }
    )


def kubelet(settings: Settings, node: Node) -> str:
    """The kubelet's configuration, for either version of control groups."""
    pki = settings.certificates
    return _json(
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": node.address,
            "port": settings.ports.kubelet,
            "healthzBindAddress": node.health_address,
            "healthzPort": settings.ports.kubelet_health,
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": f"{pki}/ca.crt"},
            },
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": f"{pki}/{node.own('kubelet')}.crt",
            "tlsPrivateKeyFile": f"{pki}/{node.own('kubelet')}.key",
            "containerRuntimeEndpoint": f"unix://{node.containerd_socket}",
            "cgroupRoot": f"/{node.cgroup}",
            "cgroupDriver": "cgroupfs",
            "failCgroupV1": False,
            "failSwapOn": False,
            "enforceNodeAllocatable": [],
            "oomScoreAdj": 0,
            "clusterDNS": [settings.node_address],
            "clusterDomain": CLUSTER_DOMAIN,
            "maxPods": settings.max_pods,
            "serializeImagePulls": False,
            # What is begun on a busy machine is waited for, and not begun anew beside itself.
            "runtimeRequestTimeout": "15m",
            # The default, 50 requests a second, is what hundreds of pods starting would wait for.
            "kubeAPIQPS": 200,
            "kubeAPIBurst": 400,
            "volumePluginDir": str(node.state / "volume-plugins"),
            "podLogsDir": str(settings.logs / node.own("pods")),
            # Images come from no registry: one that is collected cannot be pulled again. And a
            # developer's nearly full disk is no reason to evict pods.
            "imageGCHighThresholdPercent": 100,
            # With swap the kubelet takes memory for full that could be swapped out, and it is the
            # kernel that knows when there is none left.
            "evictionHard": {"memory.available": "0%" if settings.zram_mib else "100Mi"},
        }
    )


def kube_proxy(settings: Settings, node: Node) -> str:
    """kube-proxy's configuration: iptables rules, and no system-wide settings changed."""
    return _json(
        {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "clientConnection": {"kubeconfig": f"{settings.configs}/proxy.kubeconfig"},
            "mode": "iptables",
            "clusterCIDR": str(settings.pod_network),
            "nodePortAddresses": [f"{node.address}/32"],
            "healthzBindAddress": f"{node.health_address}:{settings.ports.proxy_health}",
            "metricsBindAddress": f"{node.health_address}:{settings.ports.proxy_metrics}",
            "oomScoreAdj": 0,
            "conntrack": {
                "maxPerCore": 0,
                "min": 0,
                "tcpEstablishedTimeout": "0s",
                "tcpCloseWaitTimeout": "0s",
            },
            "iptables": {"localhostNodePorts": False},
        }
    )


def corefile(settings: Settings, upstreams: Sequence[str]) -> str:
    """CoreDNS's configuration; `upstreams` are addresses that resolve all other names.

    The cluster's zone has no cache: a pod's name resolves as soon as its address is known.
    """
    zones = f"{CLUSTER_DOMAIN} in-addr.arpa ip6.arpa"
    rest = ""
    if upstreams:
        rest = f"""\
.:53 {{
    bind {settings.node_address}
    errors
    cache 30
    forward . {" ".join(upstreams)}
    loadbalance
}}
"""
    return f"""\
{CLUSTER_DOMAIN}:53 in-addr.arpa:53 ip6.arpa:53 {{
    bind {settings.node_address}
    errors
    health 127.0.0.1:{settings.ports.dns_health} {{
        lameduck 0s
    }}
    ready 127.0.0.1:{settings.ports.dns_ready}
    kubernetes {zones} {{
        kubeconfig {settings.configs}/coredns.kubeconfig
        pods disabled
        ttl 1
    }}
    loadbalance
}}
{rest}"""


def name_servers(resolv_conf: str) -> list[str]:
    """The addresses that the text of a resolv.conf names, at most the three that are used."""
    words = [line.split() for line in resolv_conf.splitlines()]
    return [line[1] for line in words if len(line) > 1 and line[0] == "nameserver"][:3]


def _json(document: object) -> str:
    return json.dumps(document, indent=2) + "\n"
