"""etcd, API server, controller-manager and scheduler of the local cluster, without its machine.

The command lines are `localkube`'s. Added is an audit log, in which the API server writes down what
some users ask of it; and the rate limits of the controllers may be Kubernetes' own.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from scale_tests.cluster import programs
from scale_tests.cluster.kube import Cluster
from scale_tests.cluster.kwok import confinement
from scale_tests.localkube import build, kubeconfig, processes
from scale_tests.localkube.api import Client
from scale_tests.localkube.certificates import Identity, ensure_certificates, issue
from scale_tests.localkube.components import Component, components
from scale_tests.localkube.settings import Settings

PODS = ipaddress.IPv4Network("10.204.0.0/16")
"""Addresses of simulated pods: all of them are this very machine's."""

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
CONTROLLERS = ("kube-controller-manager", "kube-scheduler")
LIMITS = "--kube-api-"
"""How the flags begin that set a controller's rate limits."""


@dataclass(frozen=True, kw_only=True)
class ControlPlane:
    """A control plane that runs, and how to reach it."""

    settings: Settings
    cluster: Cluster
    """As the administrator."""

    audit_log: Path

    @property
    def logs(self) -> Path:
        """The directory with one log per program."""
        return self.settings.logs

    def kubeconfig_of(self, user: str) -> Path:
        """A kubeconfig of an administrator of another name, for the audit to tell them apart."""
        identity = Identity(file=user, user=user, group="system:masters")
        if not (self.settings.certificates / f"{user}.crt").exists():
            issue(self.settings.certificates, identity)
        path = self.settings.configs / f"{user}.kubeconfig"
        kubeconfig.write_secret(path, kubeconfig.render(self.settings, user))
        return path


def settings_in(directory: Path) -> Settings:
    """Where things are of a control plane that is kept in a directory."""
    return Settings(state=directory / "state", run=directory / "run")


@contextmanager
def control_plane(
    directory: Path, *, audited: Sequence[str], default_limits: bool
) -> Iterator[ControlPlane]:
    """A control plane that is gone when the block is left.

    `audited` are the users whose requests are logged. With `default_limits` the controllers ask at
    the rates that Kubernetes gives them, else at those of the local cluster, which are higher.
    Raises ConfinementError: this process is not confined; LocalkubeError: a program does not start.
    """
    settings = settings_in(directory)
    for path in (settings.configs, settings.logs):
        path.mkdir(parents=True)
    confinement.prepare(settings.node_address, [PODS])
    ensure_certificates(settings)
    kubeconfig.write_secret(settings.kubeconfig, kubeconfig.render(settings, "admin"))
    client, log = Client(settings), settings.logs / "audit.log"
    with ExitStack() as stack:
        for component in _components(settings, log, audited, default_limits=default_limits):
            stack.enter_context(_running(settings, client, component))
        yield ControlPlane(settings=settings, cluster=Cluster(settings.kubeconfig), audit_log=log)


def audit_policy(users: Sequence[str]) -> str:
    """The policy, as JSON, by which the requests of some users are logged, without their bodies."""
    policy = {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [{"level": "Metadata", "users": list(users)}, {"level": "None"}],
    }
    return json.dumps(policy, indent=2) + "\n"


def audited(component: Component, policy: Path, log: Path, users: Sequence[str]) -> Component:
    """The API server with an audit log that is never rotated."""
    flags = (
        f"--audit-policy-file={policy}",
        f"--audit-log-path={log}",
        "--audit-log-maxsize=100000",
    )
    files = {**component.files, policy: audit_policy(users)}
    return replace(component, argv=[*component.argv, *flags], files=files)


def at_default_limits(component: Component) -> Component:
    """A controller at the rates that Kubernetes gives it.

    That is 20 requests per second and 30 at once for each of the controller-manager's, 50 and 100
    for the scheduler.
    """
    kept = [argument for argument in component.argv if not argument.startswith(LIMITS)]
    return replace(component, argv=kept)


def _components(
    settings: Settings, log: Path, users: Sequence[str], *, default_limits: bool
) -> Iterator[Component]:
    binaries = build.ensure_built()
    for component in components(settings, binaries, containerd=Path(), upstreams=()):
        if component.name == "kube-apiserver":
            yield audited(component, settings.configs / "audit.json", log, users)
        elif component.name in CONTROLLERS and default_limits:
            yield at_default_limits(component)
        elif component.name in PROGRAMS:
            yield component


@contextmanager
def _running(settings: Settings, client: Client, component: Component) -> Iterator[int]:
    processes.write_files(settings, component)
    with programs.running(
        component.name,
        component.argv,
        settings.logs,
        obstacle=lambda: client.obstacle(component.ready),
    ) as pid:
        yield pid
