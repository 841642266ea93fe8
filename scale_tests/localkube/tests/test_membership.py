"""Nodes that join a running cluster and leave it."""

from pathlib import Path
from typing import Any

import pytest

from scale_tests.localkube import cgroups, leftovers, membership, network, outage, runtime
from scale_tests.localkube.api import Client
from scale_tests.localkube.nodes import Node, nodes
from scale_tests.localkube.settings import RESERVED, Settings


class Known(Client):
    """An API server that knows these nodes, each with a status and a spec."""

    def __init__(self, **known: dict[str, Any]) -> None:
        self._known = known
        self.deleted: list[str] = []

    def get(self, path: str) -> Any:
        if path == "/api/v1/nodes":
            return {"items": [{"metadata": {"name": name}} for name in self._known]}
        return self._known[path.rpartition("/")[2]]

    def delete(self, path: str) -> None:
        self.deleted.append(path)


def test_only_nodes_that_are_asked_for_no_more_are_forgotten() -> None:
    client = Known(**{"localkube": {}, "localkube-2": {}, "localkube-3": {}})
    membership.forget(Settings(nodes=2), client)
    assert client.deleted == ["/api/v1/nodes/localkube-3"]


def test_only_nodes_that_are_there_are_taken_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(nodes=1, state=tmp_path / "state", run=tmp_path / "run")
    third = nodes(Settings(nodes=3, state=settings.state, run=settings.run))[2]
    steps: list[tuple[str, object]] = []
    for module, step in (
        (cgroups, "kill_all"),
        (leftovers, "unmount_all"),
        (network, "disconnect"),
        (outage, "end"),
        (cgroups, "remove"),
    ):
        monkeypatch.setattr(module, step, lambda *of, step=step: steps.append((step, of)))
    assert not membership.take_away(settings)
    for directory in (third.configs, third.run, settings.logs / third.own("pods")):
        directory.mkdir(parents=True)
    assert membership.take_away(settings)
    assert steps == [
        ("kill_all", (third.cgroup,)),
        ("unmount_all", (third.state, third.run)),
        ("disconnect", (third,)),
        ("end", (third,)),
        ("remove", (third.cgroup,)),
    ]
    assert not third.state.exists()
    assert not third.run.exists()
    assert not list(settings.logs.iterdir())
    assert "localkube-3: taking it away" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("status", "spec", "expected"),
    [
        ({}, {}, "node localkube is not ready: it has not reported yet"),
        (
            {"conditions": [{"type": "Ready", "status": "False", "message": "no network"}]},
            {},
            "node localkube is not ready: no network",
        ),
        (
            {"conditions": [{"type": "Ready", "status": "True"}]},
            {"taints": [{"key": "x"}]},
            "node localkube is still tainted: [{'key': 'x'}]",
        ),
        ({"conditions": [{"type": "Ready", "status": "True"}]}, {}, ""),
    ],
)
def test_obstacles_of_a_node(status: dict[str, Any], spec: dict[str, Any], expected: str) -> None:
    (first,) = nodes(Settings())
    client = Known(localkube={"status": status, "spec": spec})
    assert membership.obstacle(client, first) == expected


def test_the_taint_of_a_reserved_node_is_no_obstacle() -> None:
    second = nodes(Settings(nodes=2, reserved=True))[1]
    status = {"conditions": [{"type": "Ready", "status": "True"}]}
    taints = [{"key": RESERVED}, {"key": "y"}]
    client = Known(**{"localkube-2": {"status": status, "spec": {"taints": taints}}})
    assert membership.obstacle(client, second).endswith("still tainted: [{'key': 'y'}]")
    taints.pop()
    assert membership.obstacle(client, second) == ""


def test_a_node_that_joins_is_given_the_images_that_it_has_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = nodes(Settings(nodes=2, state=tmp_path))
    second.state.mkdir(parents=True)
    header, label = "REF TYPE DIGEST LABELS", runtime.CRI_LABEL
    listed = {
        first: [
            f"a:1 t sha256:1 {label}",
            f"b:1 t sha256:2 {label}",
            f"sha256:9 t sha256:2 {label}",
        ],
        second: [f"a:1 t sha256:1 {label}"],
    }
    asked: list[tuple[str, ...]] = []

    def ctr(node: Node, *arguments: str) -> str:
        if arguments[1] == "ls":
            return "\n".join([header, *listed[node]])
        asked.append((node.name, arguments[1], *arguments[3:]))
        if arguments[1] == "import":
            listed[node].append(f"b:1 t sha256:2 {label}")
        return ""

    monkeypatch.setattr(runtime, "_ctr", ctr)
    runtime.copy_images(first, second)
    assert asked[0] == ("localkube", "export", "b:1")
    assert asked[1][:2] == ("localkube-2", "import")
    asked.clear()
    runtime.copy_images(first, second)
    assert asked == []
