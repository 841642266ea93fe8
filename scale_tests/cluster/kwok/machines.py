"""Simulated nodes, and KWOK's controller, which reports their pods as running."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scale_tests.cluster import programs
from scale_tests.cluster.kube import Json, holds
from scale_tests.cluster.kwok.control_plane import PODS, ControlPlane
from scale_tests.cluster.wait import wait_for
from scale_tests.host.documents import data_of
from scale_tests.host.templates import filled
from scale_tests.localkube.api import Client
from scale_tests.localkube.toolset import Toolset, module_version

TOOLSET = Toolset(
    name="kwok",
    directory=Path(__file__).with_name("tools"),
    programs={"kwok": "sigs.k8s.io/kwok/cmd/kwok"},
)


def version() -> str:
    """The version of KWOK. Raises ExpectedError."""
    return module_version("sigs.k8s.io/kwok", TOOLSET.directory)


USER = "kwok"
"""The user of KWOK's controller at the API server."""

PODS_PER_MACHINE = 110
"""Kubernetes' own limit."""

STAGES = Path(__file__).with_name("stages.yaml")
"""The actions of KWOK on nodes and pods."""

ZONES = 3
_ROOM = 1.1
"""How many times the pods that are wanted there is room for: a scheduler spreads, and does not
fill machine by machine."""

_HEALTH = "127.0.0.1:10247"

_LEASE_SECONDS = 40
"""A kubelet's default. Without renewals of its Lease a node and all of its pods become not ready
after a while."""


def count_for(pods: int) -> int:
    """How many machines so many pods take, at least one in each zone."""
    return max(ZONES, math.ceil(pods * _ROOM / PODS_PER_MACHINE))


def machine(index: int) -> Json:
    """A simulated machine, as an object of the API server; zones take turns."""
    name, zone, pods = f"simulated-{index}", f"zone-{index % ZONES}", str(PODS_PER_MACHINE)
    made: Json = filled(data_of(__file__), name=name, zone=zone, pods=pods)
    return made


@contextmanager
def machines(plane: ControlPlane, count: int) -> Iterator[None]:
    """So many simulated machines that are ready. Raises ExpectedError, ApiError, StalledError."""
    program = TOOLSET.ensure_built() / "kwok"
    argv = [
        *(str(program), f"--config={STAGES}", f"--kubeconfig={plane.kubeconfig_of(USER)}"),
        *("--manage-all-nodes=true", f"--server-address={_HEALTH}"),
        f"--node-lease-duration-seconds={_LEASE_SECONDS}",
        *(f"--cidr={PODS[1]}/{PODS.prefixlen}", f"--node-ip={plane.settings.node_address}"),
    ]
    client = Client(plane.settings)
    with programs.running(
        "kwok",
        argv,
        plane.settings.logs,
        obstacle=lambda: client.obstacle(f"http://{_HEALTH}/healthz"),
    ):
        for index in range(count):
            plane.cluster.create("api/v1/nodes", machine(index))
        wait_for(
            f"{count} simulated machines",
            lambda: sum(
                holds(node, "Ready") and not node["spec"].get("taints")
                for node in plane.cluster.list("api/v1/nodes")
            ),
            lambda ready: ready == count,
        )
        yield
