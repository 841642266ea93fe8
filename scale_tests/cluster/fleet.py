"""Nodes as plain processes of this machine, each on a loopback address of its own."""

import json
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from scale_tests import otp
from scale_tests.cluster.partisan import node_name
from scale_tests.cluster.views import Views
from scale_tests.cluster.wait import STALL_SECONDS, wait_for
from scale_tests.host import procfs
from scale_tests.host.commands import ROOT, ExpectedError, stream

PORT, HTTP_PORT = 7946, 8080
MOST_NODES = 1_100
_CLUSTER = "fleet"

_PER_NETWORK = 250
_ZONES = 3
_ASK_SECONDS = 5.0
_ASKING_AT_ONCE = 8
_LAST_WORDS = 2000


class FleetError(ExpectedError):
    """A node exited; the message holds the end of its output."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The configuration of a fleet's nodes.

    `overlay`, `channels` and `workload` are Erlang terms, and `emulator_flags` are added to the
    release's. The first node is the seed, or the first `servers` nodes are. `heartbeat_ms` is the
    interval of heartbeats; None: the default.
    """

    nodes: int
    overlay: str = "{hyparview, #{}}"
    channels: str = "[#{name => default, parallelism => 1, monotonic => false}]"
    workload: str = "none"
    run: str = ""
    servers: int = 0
    emulator_flags: str = ""
    heartbeat_ms: int | None = None

    def config(self) -> str:
        """The configuration that all of them read."""
        seeds = hints(range(max(1, self.servers)))
        heartbeat = f"heartbeat_interval => {self.heartbeat_ms}, " if self.heartbeat_ms else ""
        return f"""\
#{{cluster => <<"{_CLUSTER}">>, namespace => <<"default">>, replicas => {self.nodes},
  {heartbeat}seeds => [{seeds}], listen_port => {PORT}, http_port => {HTTP_PORT},
  overlay => {self.overlay},
  channels => {self.channels}, workload => {self.workload}, run => <<"{self.run}">>,
  revision => <<>>}}.
"""


def name(index: int) -> str:
    """The name of a node: that of the pod, by which the nodes know one another."""
    return node_name(_CLUSTER, index)


def address(index: int) -> str:
    """The loopback address of a node."""
    return f"127.0.{3 + index // _PER_NETWORK}.{index % _PER_NETWORK + 1}"


def hints(indices: Iterable[int]) -> str:
    """Names and addresses of nodes, as Erlang terms."""
    return ", ".join(
        f'{{<<"{name(index)}">>, <<"{address(index)}">>, {PORT}}}' for index in indices
    )


def build_release() -> Path:
    """Builds the image's release on the image's OTP, which this process then uses.

    Returns its directory. Raises CommandError.
    """
    otp.use()
    output = ROOT / "build" / "release"
    release = output / "partisan_node"
    # relx adds to a directory, and two versions of the runtime are not a release.
    shutil.rmtree(release, ignore_errors=True)
    stream(
        ["bash", "-c", f"cd erlang_node && rebar3 as prod release --output-dir {output} >&2"],
        env={"TERM": "dumb"},
    )
    stream(["escript", "erlang_node/scripts/trim_release.escript", str(release)])
    return release


@dataclass
class Fleet:
    """Running nodes. Made by `fleet`, which also ends them."""

    plan: Plan
    directory: Path
    release: Path
    processes: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)
    command: Callable[[int], Sequence[str]] | None = None
    """Starts a node of another system, whose HTTP answers are like ours; None: the release."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Further variables of the environment."""

    def start(self, index: int) -> None:
        """Starts one node."""
        state = self.directory / name(index)
        state.mkdir()
        with (self.directory / f"{name(index)}.log").open("wb") as log:
            ours = [str(self.release / "bin" / "partisan_node"), "foreground"]
            self.processes[index] = subprocess.Popen(
                ours if self.command is None else self.command(index),
                env={**os.environ, **self._environment(index, state), **self.variables},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _environment(self, index: int, state: Path) -> Mapping[str, str]:
        return {
            "POD_NAME": name(index),
            "POD_IP": address(index),
            "K8S_ZONE": f"zone-{index % _ZONES}",
            "PARTISAN_LISTEN_IP": address(index),
            "PARTISAN_CONFIG": str(self.directory / "node.config"),
            "PARTISAN_TOKEN_FILE": str(self.directory / "token"),
            "PARTISAN_STATE_DIR": str(state),
            "HOME": str(self.directory),
            "ERL_FLAGS": self.plan.emulator_flags,
        }

    def views(self) -> Views:
        """The active views of the nodes that answer."""
        found = self.ask(list(self.processes), "/overlay").values()
        return {view["node"]: frozenset(view["active"]) for view in found if view["joined"]}

    def await_views(
        self,
        done: Callable[[Views], bool],
        *,
        progress: Callable[[Views], Hashable] = lambda views: tuple(sorted(views.items())),
        stall_seconds: float = STALL_SECONDS,
        period_seconds: float = 0.25,
    ) -> Views:
        """The views once they are as wanted. Raises StalledError: `progress` stays the same."""
        return wait_for(
            "the overlay",
            self.views,
            done,
            progress=progress,
            stall_seconds=stall_seconds,
            period_seconds=period_seconds,
        )

    def otp(self) -> list[str]:
        """The OTP releases that running nodes report."""
        running = [index for index, process in self.processes.items() if process.poll() is None]
        return sorted({status["otp"] for status in self.ask(running[:1], "/status").values()})

    def start_run(self, index: int) -> None:
        """Starts the workload's run on one node, which informs the others.

        Retried while the node does not answer: it is idempotent. Raises FleetError: the node
        refuses; StalledError: it does not answer.
        """
        token = (self.directory / "token").read_text()

        def start() -> int | None:
            status, body = _request(index, "POST", "/workload/start", self.plan.run, token)
            if status is not None and 400 <= status < 500:
                raise FleetError(f"{name(index)}: {status} {body}")
            return status

        what = f"{name(index)} to start the run"
        wait_for(what, start, lambda status: status == HTTPStatus.ACCEPTED)

    def cpu_seconds(self) -> float:
        """The processor time of all nodes since their start."""
        return sum(procfs.cpu_seconds(process.pid) for process in self.processes.values())

    def ask(self, indices: Sequence[int], path: str) -> dict[int, Any]:
        """The answers of those of these nodes that answer. Raises FleetError: a node has ended."""
        self._check()
        with ThreadPoolExecutor(_ASKING_AT_ONCE) as pool:
            answers = pool.map(lambda index: _request(index, "GET", path), indices)
            # A node whose workload does not answer in time answers with another status.
            return {
                index: json.loads(body)
                for index, (status, body) in zip(indices, answers, strict=True)
                if status == HTTPStatus.OK
            }

    def _check(self) -> None:
        for index, process in self.processes.items():
            if process.poll() not in (None, -signal.SIGKILL):
                log = (self.directory / f"{name(index)}.log").read_text()[-_LAST_WORDS:]
                raise FleetError(f"{name(index)} ended with {process.returncode}:\n{log}")


def _request(
    index: int, method: str, path: str, body: str | None = None, token: str = ""
) -> tuple[int | None, str]:
    """A node's answer: status and body; None while it is not up, or when it is up no more."""
    connection = HTTPConnection(address(index), HTTP_PORT, timeout=_ASK_SECONDS)
    try:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    except (OSError, HTTPException):
        return None, ""
    finally:
        connection.close()


@contextmanager
def fleet(plan: Plan, release: Path) -> Iterator[Fleet]:
    """A fleet whose nodes are yet to be started; all are ended when the block is left.

    Their state and logs are in a directory that goes with them.
    """
    if not 1 <= plan.nodes <= MOST_NODES:
        raise ValueError(f"nodes must be 1 to {MOST_NODES}, not {plan.nodes}")
    with tempfile.TemporaryDirectory(prefix="fleet-") as directory:
        nodes = Fleet(plan=plan, directory=Path(directory), release=release)
        (nodes.directory / "node.config").write_text(plan.config())
        (nodes.directory / "token").write_text(secrets.token_hex(32))
        try:
            yield nodes
        finally:
            end(list(nodes.processes.values()))


def end(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Kills the processes, also those that are stopped, and waits for their end."""
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()
