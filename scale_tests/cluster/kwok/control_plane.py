"""The local cluster's control plane without its machine.

Adds an audit log of some users' requests; controllers may have Kubernetes' own rate limits.
"""

import ipaddress
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from scale_tests.cluster import programs
from scale_tests.cluster.kube import Cluster
from scale_tests.cluster.kwok import confinement
from scale_tests.host import files
from scale_tests.host.documents import data_of
from scale_tests.host.templates import filled
from scale_tests.localkube import build, configs, processes
from scale_tests.localkube.api import Client
from scale_tests.localkube.certificates import Identity, ensure_certificates, issue
from scale_tests.localkube.components import Component, components
from scale_tests.localkube.settings import Settings

PODS = ipaddress.IPv4Network("10.204.0.0/16")
"""Addresses of simulated pods: all of them are this very machine's."""

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
CONTROLLERS = ("kube-controller-manager", "kube-scheduler")
LIMITS = "--kube-api-"
"""The prefix of the flags that set a controller's rate limits."""


@dataclass(frozen=True, kw_only=True)
class ControlPlane:
    """A control plane that runs, and how to reach it."""

    settings: Settings
    cluster: Cluster
    """As the administrator."""

    audit_log: Path

    def kubeconfig_of(self, user: str) -> Path:
        """A kubeconfig of an administrator of another name, for the audit to tell them apart."""
        identity = Identity(file=user, user=user, group="system:masters")
        if not (self.settings.certificates / f"{user}.crt").exists():
            issue(self.settings.certificates, identity)
        path = self.settings.configs / f"{user}.kubeconfig"
        files.replace(path, configs.kubeconfig(self.settings, user), mode=0o600)
        return path


def settings_in(directory: Path) -> Settings:
    """The paths of a control plane in its directory."""
    return Settings(state=directory / "state", run=directory / "run")


@contextmanager
def control_plane(
    directory: Path, *, audited: Sequence[str], default_limits: bool
) -> Iterator[ControlPlane]:
    """A control plane that is gone when the block is left.

    `audited` are the users whose requests are logged. `default_limits` are Kubernetes' own, else
    the local cluster's higher ones. Raises ExpectedError.
    """
    settings = settings_in(directory)
    for path in (settings.configs, settings.logs):
        path.mkdir(parents=True)
    confinement.prepare(settings.node_address, [PODS])
    ensure_certificates(settings)
    files.replace(settings.kubeconfig, configs.kubeconfig(settings, "admin"), mode=0o600)
    client, log = Client(settings), settings.logs / "audit.log"
    with ExitStack() as stack:
        for component in _components(settings, log, audited, default_limits=default_limits):
            processes.write_files(settings, component)
            obstacle = partial(client.obstacle, component.ready)
            program = programs.running(
                component.name, component.argv, settings.logs, obstacle=obstacle
            )
            stack.enter_context(program)
        yield ControlPlane(settings=settings, cluster=Cluster(settings.kubeconfig), audit_log=log)


def audited(component: Component, policy: Path, log: Path, users: Sequence[str]) -> Component:
    """The API server with an audit log of these users' requests, which is never rotated."""
    flags = (f"--audit-policy-file={policy}", f"--audit-log-path={log}")
    argv = [*component.argv, *flags, "--audit-log-maxsize=100000"]
    text = json.dumps(filled(data_of(__file__), users=list(users)), indent=2) + "\n"
    return replace(component, argv=argv, files={**component.files, policy: text})


def at_default_limits(component: Component) -> Component:
    """A controller at Kubernetes' own rate limits.

    20 requests per second, bursts of 30; for the scheduler 50 and 100.
    """
    kept = [argument for argument in component.argv if not argument.startswith(LIMITS)]
    return replace(component, argv=kept)


def _components(
    settings: Settings, log: Path, users: Sequence[str], *, default_limits: bool
) -> Iterator[Component]:
    binaries = build.TOOLSET.ensure_built()
    for component in components(settings, binaries, containerd=Path(), upstreams=()):
        if component.name == "kube-apiserver":
            yield audited(component, settings.configs / "audit.json", log, users)
        elif component.name in CONTROLLERS and default_limits:
            yield at_default_limits(component)
        elif component.name in PROGRAMS:
            yield component
