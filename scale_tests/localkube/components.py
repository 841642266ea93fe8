"""The cluster's components as pure functions: command line, files, readiness.

Those of one stage start together, once the previous stage is ready.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from scale_tests.localkube import configs
from scale_tests.localkube.nodes import ZONE_LABEL, Node, nodes
from scale_tests.localkube.settings import CGROUP, Settings

AT_ONCE = 250
"""Up to so many pods a machine starts at once without harm."""

PODS_PER_SECOND = 1.5
"""What two processors keep up with."""


FAST = ["--kube-api-qps=200", "--kube-api-burst=400"]
"""The defaults, 20 and 50 requests a second, are what hundreds of pods would wait for."""


@dataclass(frozen=True, kw_only=True)
class Component:
    """One process of the cluster."""

    name: str
    argv: Sequence[str]
    """The program's absolute path and its arguments."""

    stage: int
    """When it starts: 0 needs nothing, 1 needs etcd, 2 needs the API server and containerd."""

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
        _etcd(settings, binaries),
        *(_containerd(node, containerd) for node in members),
        _apiserver(settings, binaries),
        _controller_manager(settings, binaries),
        _scheduler(settings, binaries),
        _coredns(settings, binaries, upstreams),
        *(_kubelet(settings, node, binaries) for node in members),
        *(_kube_proxy(settings, node, binaries) for node in members),
    ]


def _etcd(settings: Settings, binaries: Path) -> Component:
    pki = settings.certificates
    client = f"https://127.0.0.1:{settings.ports.etcd_client}"
    peer = f"https://127.0.0.1:{settings.ports.etcd_peer}"
    return Component(
        name="etcd",
        stage=0,
        argv=[
            str(binaries / "etcd"),
            "--name=local",
            f"--data-dir={settings.state}/etcd",
            # A cluster that is thrown away need not survive the loss of power.
            "--unsafe-no-fsync",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=local={peer}",
            "--client-cert-auth",
            f"--trusted-ca-file={pki}/ca.crt",
            f"--cert-file={pki}/etcd.crt",
            f"--key-file={pki}/etcd.key",
            "--peer-client-cert-auth",
            f"--peer-trusted-ca-file={pki}/ca.crt",
            f"--peer-cert-file={pki}/etcd.crt",
            f"--peer-key-file={pki}/etcd.key",
            "--log-level=warn",
        ],
        ready=f"{client}/readyz",
        tcp=[("127.0.0.1", settings.ports.etcd_client), ("127.0.0.1", settings.ports.etcd_peer)],
    )


def _containerd(node: Node, program: Path) -> Component:
    config = node.configs / "containerd.toml"
    return Component(
        name=node.own("containerd"),
        stage=0,
        argv=[*node.entrance, str(program), f"--config={config}"],
        files={
            config: configs.containerd(node),
            node.configs / "cni" / "10-pods.conflist": configs.cni(node),
        },
        ready=f"unix://{node.containerd_socket}",
        cgroup=node.cgroup,
    )


def _apiserver(settings: Settings, binaries: Path) -> Component:
    pki = settings.certificates
    return Component(
        name="kube-apiserver",
        stage=1,
        argv=[
            str(binaries / "kube-apiserver"),
            f"--bind-address={settings.node_address}",
            f"--advertise-address={settings.node_address}",
            f"--secure-port={settings.ports.apiserver}",
            f"--service-cluster-ip-range={settings.service_network}",
            f"--tls-cert-file={pki}/apiserver.crt",
            f"--tls-private-key-file={pki}/apiserver.key",
            f"--client-ca-file={pki}/ca.crt",
            "--anonymous-auth=false",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged=true",
            f"--etcd-servers=https://127.0.0.1:{settings.ports.etcd_client}",
            f"--etcd-cafile={pki}/ca.crt",
            f"--etcd-certfile={pki}/apiserver-etcd.crt",
            f"--etcd-keyfile={pki}/apiserver-etcd.key",
            f"--kubelet-certificate-authority={pki}/ca.crt",
            f"--kubelet-client-certificate={pki}/apiserver-kubelet.crt",
            f"--kubelet-client-key={pki}/apiserver-kubelet.key",
            # Extension API servers (metrics, for one) trust the API server by these.
            f"--requestheader-client-ca-file={pki}/ca.crt",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={pki}/front-proxy.crt",
            f"--proxy-client-key-file={pki}/front-proxy.key",
            # Logs, exec and port-forward: the node's name resolves nowhere.
            "--kubelet-preferred-address-types=InternalIP",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki}/service-accounts.pub",
            f"--service-account-signing-key-file={pki}/service-accounts.key",
            "--profiling=false",
        ],
        ready=f"{settings.server}/readyz",
        tcp=[(settings.node_address, settings.ports.apiserver)],
    )


def _controller_manager(settings: Settings, binaries: Path) -> Component:
    pki = settings.certificates
    return Component(
        name="kube-controller-manager",
        stage=2,
        argv=[
            str(binaries / "kube-controller-manager"),
            *_controller(settings, settings.ports.controller_manager, "controller-manager"),
            *FAST,
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={pki}/service-accounts.key",
            # Without it no namespace gets the ConfigMap that clients in pods trust.
            f"--root-ca-file={pki}/ca.crt",
            f"--cluster-signing-cert-file={pki}/ca.crt",
            f"--cluster-signing-key-file={pki}/ca.key",
            # Pods that start together are published together: a name resolves a moment later,
            # and 32 pods are a few writes instead of a hundred.
            "--endpointslice-updates-batch-period=100ms",
            "--endpoint-updates-batch-period=100ms",
        ],
        identity="controller-manager",
        ready=f"https://127.0.0.1:{settings.ports.controller_manager}/healthz",
        tcp=[("127.0.0.1", settings.ports.controller_manager)],
    )


def _scheduler(settings: Settings, binaries: Path) -> Component:
    return Component(
        name="kube-scheduler",
        stage=2,
        argv=[
            str(binaries / "kube-scheduler"),
            *_controller(settings, settings.ports.scheduler, "scheduler"),
            *_pace(settings),
        ],
        identity="scheduler",
        ready=f"https://127.0.0.1:{settings.ports.scheduler}/healthz",
        tcp=[("127.0.0.1", settings.ports.scheduler)],
    )


def _pace(settings: Settings) -> list[str]:
    """The scheduler's rate: as fast as the machine starts pods, where they are many.

    A kubelet starts all its pods at once. Hundreds of them starve each other until their requests
    to the runtime time out.
    """
    if settings.max_pods <= AT_ONCE:
        return FAST
    return [f"--kube-api-qps={PODS_PER_SECOND}", "--kube-api-burst=32"]


def _controller(settings: Settings, port: int, identity: str) -> list[str]:
    """What the two controllers have in common."""
    pki, kubeconfig = settings.certificates, f"{settings.configs}/{identity}.kubeconfig"
    return [
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={pki}/loopback.crt",
        f"--tls-private-key-file={pki}/loopback.key",
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        # There is one of each, and waiting for an old lease would delay every restart.
        "--leader-elect=false",
        "--profiling=false",
    ]


def _coredns(settings: Settings, binaries: Path, upstreams: Sequence[str]) -> Component:
    config = settings.configs / "Corefile"
    return Component(
        name="coredns",
        stage=2,
        argv=[str(binaries / "coredns"), f"-conf={config}"],
        files={config: configs.corefile(settings, upstreams)},
        identity="coredns",
        ready=f"http://127.0.0.1:{settings.ports.dns_ready}/ready",
        tcp=[
            (settings.node_address, 53),
            ("127.0.0.1", settings.ports.dns_health),
            ("127.0.0.1", settings.ports.dns_ready),
        ],
    )


def _kubelet(settings: Settings, node: Node, binaries: Path) -> Component:
    config, identity = node.configs / "kubelet.json", node.own("kubelet")
    return Component(
        name=identity,
        stage=2,
        argv=[
            *node.entrance,
            str(binaries / "kubelet"),
            f"--config={config}",
            f"--kubeconfig={settings.configs}/{identity}.kubeconfig",
            f"--root-dir={node.state}/kubelet",
            f"--hostname-override={node.name}",
            f"--node-ip={node.address}",
            f"--node-labels={ZONE_LABEL}={node.zone}",
        ],
        files={config: configs.kubelet(settings, node)},
        identity=identity,
        ready=f"http://{node.health_address}:{settings.ports.kubelet_health}/healthz",
        tcp=_on_the_machine(
            node,
            (node.address, settings.ports.kubelet),
            (node.health_address, settings.ports.kubelet_health),
        ),
        cgroup=node.cgroup,
    )


def _kube_proxy(settings: Settings, node: Node, binaries: Path) -> Component:
    config = node.configs / "kube-proxy.json"
    return Component(
        name=node.own("kube-proxy"),
        stage=2,
        argv=[
            *node.entrance,
            str(binaries / "kube-proxy"),
            f"--config={config}",
            f"--hostname-override={node.name}",
        ],
        files={config: configs.kube_proxy(settings, node)},
        identity="proxy",
        ready=f"http://{node.health_address}:{settings.ports.proxy_health}/healthz",
        tcp=_on_the_machine(
            node,
            (node.health_address, settings.ports.proxy_health),
            (node.health_address, settings.ports.proxy_metrics),
        ),
        cgroup=node.cgroup,
    )


def _on_the_machine(node: Node, *listeners: tuple[str, int]) -> tuple[tuple[str, int], ...]:
    """A node's listeners as far as others may be in their way: nobody is in a namespace of ours."""
    return listeners if node.first else ()
