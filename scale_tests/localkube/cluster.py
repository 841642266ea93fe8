"""Bringing the cluster up, taking it down, and saying how it is: the order of the steps."""

import itertools
import json
import os
import shutil
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from scale_tests.host import files
from scale_tests.host.commands import ExpectedError
from scale_tests.localkube import (
    build,
    cgroups,
    configs,
    dns,
    leftovers,
    membership,
    network,
    outage,
    preflight,
    processes,
    runtime,
    waiting,
    zram,
)
from scale_tests.localkube.api import ApiError, Client
from scale_tests.localkube.certificates import ensure_certificates
from scale_tests.localkube.components import Component, components
from scale_tests.localkube.nodes import nodes
from scale_tests.localkube.progress import duration
from scale_tests.localkube.settings import CGROUP, CLUSTER_DOMAIN, Settings, cache_directory

CHOICES = ("max_pods", "nodes", "reserved", "zram_mib")
"""The settings that are options of `up`, and that a cluster keeps."""

START_LIMIT = 600.0
"""Seconds that a component may take until it is ready, on a busy machine."""


def up(settings: Settings) -> None:
    """Brings up the cluster, or its missing parts; returns once pods can run.

    Idempotent: restarts processes that have ended or whose configuration has changed, removes
    surplus nodes, and brings failed ones back. Prints progress. Raises ExpectedError: a step
    failed; started processes stay, for their logs.
    """
    preflight.check_machine()
    binaries = build.TOOLSET.ensure_built()
    began = time.monotonic()
    with exclusive():
        _discard_other_boot(settings)
        changed = membership.take_away(settings)
        _prepare(settings)
        client = Client(settings)
        wanted = _components(settings, binaries)
        preflight.check_ports(
            component for component in wanted if not processes.find(settings, component.name)
        )
        for stage, together in itertools.groupby(wanted, key=lambda component: component.stage):
            members = list(together)
            started = [component for component in members if _ensure(settings, component)]
            changed = changed or bool(started)
            for component in members:
                _wait_ready(settings, client, component)
            if stage == 0:
                runtime.share(nodes(settings), binaries / "pause")
            elif stage == 1:
                for path, document in configs.table("addons.toml").items():
                    client.apply(path, document)
        membership.forget(settings, client)
        waiting.until_none(lambda: _cluster_obstacle(settings, client), seconds=START_LIMIT)
    verb = f"is up after {duration(time.monotonic() - began)}" if changed else "was up already"
    print(f"Kubernetes {verb}: export KUBECONFIG={settings.kubeconfig}", flush=True)


def down(settings: Settings) -> None:
    """Kills everything and removes every trace. Raises ExpectedError, which names what stays."""
    preflight.check_user()
    began = time.monotonic()
    with exclusive():
        if not (settings.state.exists() or settings.run.exists()):
            print("The local cluster is not up: nothing to remove.")
            return
        components = processes.recorded(settings).values()
        cgroups.kill_all(CGROUP, first=[record.pid for record in components])
        leftovers.unmount_all(settings.state, settings.run)
        network.restore(settings)
        zram.remove(settings)
        cgroups.remove(CGROUP)
        leftovers.remove_files(settings)
    print(f"The local cluster is gone after {duration(time.monotonic() - began)}.")


def status(settings: Settings) -> bool:
    """Prints each component's state and what keeps pods from running; whether all is well.

    Raises ExpectedError: the cluster is not up.
    """
    preflight.check_user()
    if not settings.kubeconfig.exists():
        raise ExpectedError("the local cluster is not up: python -m scale_tests.localkube up")
    client, well = Client(settings), True
    print(f"{'COMPONENT':<28}{'PID':>9}{'MEMORY':>10}  READY")
    for component in _components(settings, build.TOOLSET.bin_directory):
        record = processes.find(settings, component.name)
        pid = record.pid if record else "-"
        memory = f"{_resident(record.pid) >> 20 if record else 0} MiB"
        obstacle = client.obstacle(component.ready) if record else "does not run"
        print(f"{component.name:<28}{pid:>9}{memory:>10}  {obstacle or 'yes'}")
        well &= not obstacle
    obstacle = _cluster_obstacle(settings, client)
    each = f" on each of {settings.nodes} nodes" if settings.nodes > 1 else ""
    print(f"\nkubeconfig  {settings.kubeconfig}\nlogs        {settings.logs}")
    print(f"pods        {obstacle or f'can run, up to {settings.max_pods}{each}'}")
    return well and not obstacle


def load_images(settings: Settings, archives: Sequence[Path]) -> list[str]:
    """Imports images on every node; returns the names that were new. Raises ExpectedError."""
    preflight.check_user()
    with exclusive():
        members = nodes(stored(settings))
        if not all(node.containerd_socket.exists() for node in members):
            raise ExpectedError("the local cluster is not up: python -m scale_tests.localkube up")
        loaded = [name for node in members for name in runtime.load(node, archives)]
    return list(dict.fromkeys(loaded))


def stored(settings: Settings) -> Settings:
    """The settings that the cluster was brought up with, as far as they can be chosen."""
    try:
        choices = json.loads((settings.state / "settings.json").read_text())
    except FileNotFoundError:
        return settings
    # What another version of this program has let people choose is that one's.
    return replace(settings, **{name: choices[name] for name in CHOICES if name in choices})


def _prepare(settings: Settings) -> None:
    settings.state.mkdir(parents=True, exist_ok=True)
    settings.state.chmod(0o711)
    settings.run.mkdir(parents=True, exist_ok=True)
    settings.configs.mkdir(exist_ok=True)
    (settings.state / "boot-id").write_text(preflight.boot_id())
    choices = {name: getattr(settings, name) for name in CHOICES}
    (settings.state / "settings.json").write_text(json.dumps(choices))
    cgroups.create(node.cgroup for node in nodes(settings))
    zram.ensure(settings)
    network.prepare(settings)
    for node in nodes(settings)[1:]:
        node.state.mkdir(parents=True, exist_ok=True)
        outage.end(node)
    ensure_certificates(settings)
    files.replace(settings.kubeconfig, configs.kubeconfig(settings, "admin"), mode=0o600)


def _components(settings: Settings, binaries: Path) -> list[Component]:
    containerd = Path(shutil.which("containerd") or "/usr/bin/containerd")
    upstreams = configs.name_servers(Path("/etc/resolv.conf").read_text())
    return components(settings, binaries, containerd, upstreams)


def _ensure(settings: Settings, component: Component) -> bool:
    """Starts a component that does not run as it should; whether it was started."""
    record = processes.find(settings, component.name)
    if record and record.digest == processes.digest(component):
        processes.resume(record)
        return False
    if record:
        print(f"  {component.name}: its configuration has changed, stopping it", flush=True)
        # The API server keeps watches open for a minute, which are of no use here.
        processes.stop(record, seconds=10)
    print(f"  {component.name}: starting", flush=True)
    processes.write_files(settings, component)
    processes.start(settings, component)
    return True


def _wait_ready(settings: Settings, client: Client, component: Component) -> None:
    log = settings.logs / f"{component.name}.log"

    def obstacle() -> str:
        if processes.find(settings, component.name) is None:
            end = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            raise ExpectedError(
                f"{component.name} has ended; the last lines of its log ({log}):\n{end}"
            )
        return client.obstacle(component.ready)

    try:
        waiting.until_none(obstacle, seconds=START_LIMIT)
    except waiting.TimedOutError as error:
        raise ExpectedError(f"{component.name} is not ready: {error}; its log: {log}") from error


def _cluster_obstacle(settings: Settings, client: Client) -> str:
    """The reason why the cluster does not run pods; empty if it does."""
    try:
        for node in nodes(settings):
            if obstacle := membership.obstacle(client, node):
                return obstacle
        # What every new pod in the default namespace needs to be admitted and mounted.
        client.get("/api/v1/namespaces/default/serviceaccounts/default")
        client.get("/api/v1/namespaces/default/configmaps/kube-root-ca.crt")
    except ApiError as error:
        return str(error)
    return dns.obstacle(settings.node_address, f"kubernetes.default.svc.{CLUSTER_DOMAIN}")


def _discard_other_boot(settings: Settings) -> None:
    """Removes the state of a cluster that ran before the machine was rebooted."""
    note = settings.state / "boot-id"
    if note.exists() and note.read_text() != preflight.boot_id():
        print("The machine was rebooted since: starting with an empty cluster.", flush=True)
        leftovers.remove_files(settings)


def exclusive() -> AbstractContextManager[None]:
    """One change of the cluster at a time on the machine."""
    return files.locked(cache_directory() / "localkube.lock")


def _resident(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except FileNotFoundError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")
