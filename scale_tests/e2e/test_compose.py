"""The services of examples/compose, as processes in the image's file system on loopback addresses.

There is no Docker here, so addresses, mounts and environment of the services are taken from the
file, and a file system of each service's own from the image.
"""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml

from images.builder.bases import buildah
from images.builder.build import build
from images.builder.catalogue import ELIXIR
from scale_tests.cluster.wait import wait_for
from scale_tests.host.commands import ROOT
from scale_tests.localkube.settings import cache_directory

TOKEN = "a secret of this test alone"


def described() -> Any:
    """The file, with loopback addresses."""
    text = (ROOT / "examples" / "compose" / "compose.yaml").read_text()
    return yaml.safe_load(text.replace("172.30.7.", "127.30.7."))


@contextmanager
def running(service: Any, nodes: Path, log: Path) -> Iterator[None]:
    """A service's process, in a file system of its own."""
    assert service["image"] == ELIXIR.reference
    container = buildah("from", "--pull-never", f"oci-archive:{ELIXIR.archive}")
    store = cache_directory() / "buildah"
    given = service["environment"] | {"CLUSTER_TOKEN": TOKEN}
    argv = [
        *("buildah", "--root", str(store / "root"), "--runroot", str(store / "run")),
        *("run", "--isolation", "chroot", "--volume", f"{nodes}:{given['NODES_FILE']}:ro"),
        *(part for name, value in given.items() for part in ("--env", f"{name}={value}")),
        *(container, "--", *service["entrypoint"]),
    ]
    try:
        with log.open("wb") as output:
            process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
            )
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    finally:
        buildah("rm", container)


def test_the_services_find_one_another_and_finish(tmp_path: Path) -> None:
    build(ELIXIR)
    compose = described()
    assert all(service["configs"] == ["nodes"] for service in compose["services"].values())
    nodes = tmp_path / "nodes"
    nodes.write_text(compose["configs"]["nodes"]["content"])
    logs = [tmp_path / f"{name}.log" for name in compose["services"]]
    with ExitStack() as stack:
        for service, log in zip(compose["services"].values(), logs, strict=True):
            [network] = service["networks"].values()
            assert network["ipv4_address"] == service["environment"]["NODE_IP"]
            stack.enter_context(running(service, nodes, log))
        wait_for(
            "all services to finish",
            lambda: [log.read_text() for log in logs],
            lambda texts: all("the cards of all 3 members are here" in text for text in texts),
        )
