"""Faults in the network of one pod, injected from outside with the machine's own programs.

The pod and its processes are left as they are: rules and processes are put into its network
namespace, which any process of root may enter. Of the local cluster only.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from scale_tests.cluster.kube import Json
from scale_tests.cluster.local_nodes import containerd_socket
from scale_tests.cluster.nodes import HTTP_PORT
from scale_tests.host.commands import ROOT, capture

FAULTY_PORT = 18080
"""The port of `faulty_node` in a pod."""


def process_of(pod: Json) -> int:
    """The process id, on this machine, of a pod's only container.

    Raises:
        ValueError: it does not run.
        CommandError: containerd does not answer.
    """
    (status,) = pod["status"]["containerStatuses"]
    task = status["containerID"].removeprefix("containerd://")
    socket = str(containerd_socket(pod))
    listed = capture(["ctr", "--address", socket, "-n", "k8s.io", "task", "ls"])
    found = re.search(rf"^{task}\s+(\d+)\s+RUNNING", listed, re.MULTILINE)
    if found is None:
        raise ValueError(f"{pod['metadata']['name']} has no process: {status['state']}")
    return int(found[1])


def connect(pod: Json, host: str, port: int) -> None:
    """Opens a connection from a pod's network, and closes it. Raises CommandError."""
    program = f"import socket; socket.create_connection(({host!r}, {port}), timeout=10).close()"
    capture([*_inside(process_of(pod)), sys.executable, "-c", program])


@contextmanager
def faulty(pod: Json, *, path: str, manner: str) -> Iterator[None]:
    """Has `faulty_node` answer a pod's requests for one path, in that manner, for a while.

    All other requests reach the node. Raises CommandError.
    """
    with ExitStack() as stack:
        process = process_of(pod)
        proxy = subprocess.Popen(
            [
                *_inside(process),
                *(sys.executable, "-m", "scale_tests.e2e.faulty_node"),
                *(str(FAULTY_PORT), str(HTTP_PORT), path, manner),
            ],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        stack.callback(_end, proxy)
        assert proxy.stdout is not None
        assert proxy.stdout.readline() == "listening\n"
        redirect = ["-p", "tcp", "--dport", str(HTTP_PORT), "-j", "REDIRECT"]
        _rule(stack, process, "nat", "PREROUTING", [*redirect, "--to-ports", str(FAULTY_PORT)])
        yield


@contextmanager
def severed(pod: Json, *, port: int, silently: bool) -> Iterator[int]:
    """Ends a pod's present connections to a port; those that are made afterwards work.

    Either each is reset with the first packet that the pod sends on it, be it an acknowledgement,
    or it stays open and carries nothing any more. Yields their number. Raises CommandError.
    """
    outgoing = ["DROP"] if silently else ["REJECT", "--reject-with", "tcp-reset"]
    with ExitStack() as stack:
        process = process_of(pod)
        ends = _local_ports(process, port)
        for end in ends:
            from_it, to_it = (["-p", "tcp", which, end, "-j"] for which in ("--sport", "--dport"))
            _rule(stack, process, "filter", "OUTPUT", [*from_it, *outgoing])
            if silently:
                _rule(stack, process, "filter", "INPUT", [*to_it, "DROP"])
        yield len(ends)


def _rule(stack: ExitStack, process: int, table: str, chain: str, rule: list[str]) -> None:
    """Inserts a rule in a pod, and removes it when the stack ends."""
    iptables = [*_inside(process), "iptables", "--wait", "-t", table]
    capture([*iptables, "-I", chain, *rule])
    stack.callback(capture, [*iptables, "-D", chain, *rule])


def _local_ports(process: int, port: int) -> list[str]:
    """The local ports of the pod's established connections to a port."""
    wanted = f"( dport = :{port} )"
    listed = capture([*_inside(process), "ss", "-Htn", "state", "established", wanted])
    return [line.split()[2].rpartition(":")[2] for line in listed.splitlines()]


def _inside(process: int) -> tuple[str, ...]:
    return ("nsenter", "--target", str(process), "--net")


def _end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()
