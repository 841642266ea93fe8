"""Starts, finds and stops the components' processes.

A record of each holds its process id, when that process started (ids are reused), and a digest of
its command line and files, by which `up` restarts only what has changed.
"""

import hashlib
import json
import os
import signal
import subprocess
from dataclasses import asdict, dataclass

from scale_tests.host import files, procfs
from scale_tests.localkube import cgroups, configs, waiting
from scale_tests.localkube.components import Component
from scale_tests.localkube.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Record:
    """A process that was started for a component."""

    pid: int
    started: int
    """Ticks between the machine's boot and the process's start."""

    digest: str

    @property
    def alive(self) -> bool:
        """Whether it is still that process that runs under the id."""
        return procfs.started(self.pid) == self.started


def digest(component: Component) -> str:
    """A fingerprint of a component's command line and of its configuration files."""
    read = sorted((str(path), text) for path, text in component.files.items())
    return hashlib.sha256(json.dumps([list(component.argv), read]).encode()).hexdigest()


def write_files(settings: Settings, component: Component) -> None:
    """Writes the files that a component reads at its start: configuration and kubeconfig."""
    for path, text in component.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if component.identity:
        path = settings.configs / f"{component.identity}.kubeconfig"
        files.replace(path, configs.kubeconfig(settings, component.identity), mode=0o600)


def find(settings: Settings, name: str) -> Record | None:
    """The record of a component whose process still runs."""
    try:
        record = Record(**json.loads((settings.records / f"{name}.json").read_text()))
    except FileNotFoundError:
        return None
    return record if record.alive else None


def recorded(settings: Settings) -> dict[str, Record]:
    """The records of all components whose processes still run, by name."""
    names = [path.stem for path in sorted(settings.records.glob("*.json"))]
    return {name: record for name in names if (record := find(settings, name))}


def start(settings: Settings, component: Component) -> None:
    """Starts a component in its own session and control group, and records it.

    The process appends to `logs/NAME.log`.
    """
    settings.logs.mkdir(parents=True, exist_ok=True)
    settings.records.mkdir(parents=True, exist_ok=True)
    groups = cgroups.component_files(component.cgroup)
    with (settings.logs / f"{component.name}.log").open("ab") as log:
        process = subprocess.Popen(
            ["/bin/sh", "-c", _JOIN_AND_EXEC, "sh", *component.argv],
            cwd="/",
            # Clean: only what locates programs; proxies must not see cluster traffic.
            env={
                # Such machines have more memory than processor time to spare (default: 100).
                "GOGC": "300",
                "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "HOME": os.environ.get("HOME", "/root"),
                "CGROUP_FILES": " ".join(map(str, groups)),
            },
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    record = Record(
        pid=process.pid, started=procfs.started(process.pid) or 0, digest=digest(component)
    )
    files.replace(settings.records / f"{component.name}.json", json.dumps(asdict(record)))


def stop(record: Record, *, seconds: float) -> None:
    """Ends a process: SIGTERM, then after `seconds` SIGKILL. Raises waiting.TimedOutError."""

    def obstacle() -> str:
        return f"process {record.pid} still runs" if record.alive else ""

    _signal(record, signal.SIGTERM)
    try:
        waiting.until_none(obstacle, seconds=seconds)
    except waiting.TimedOutError:
        _signal(record, signal.SIGKILL)
        waiting.until_none(obstacle, seconds=100)


def resume(record: Record) -> None:
    """Lets a process run that was stopped, as a test that stops one leaves it when it is killed."""
    _signal(record, signal.SIGCONT)


_JOIN_AND_EXEC = 'for file in $CGROUP_FILES; do echo 0 > "$file" || exit 1; done; exec "$@"'
"""Joins the control group before the program can start a child that would escape it."""


def _signal(record: Record, number: signal.Signals) -> None:
    if record.alive:
        procfs.send(number, [record.pid])
