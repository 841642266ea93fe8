"""The resources that a run used, from the reports of its parts."""

import os

import pytest

from scale_tests.benches.experiments import collect
from scale_tests.benches.experiments.collect import Usage
from scale_tests.cluster.kube import ApiError
from scale_tests.cluster.tests.nodes import node
from scale_tests.host import procfs


def test_a_node_s_times_are_since_the_apply_and_its_bytes_its_own() -> None:
    status = node(1, 30, incarnation=1_700_000_002_500_000)
    (member,) = collect.members(
        [status],
        {"ads-1": {collect.JOINED: 1_700_000_003.25, collect.TCP_SENT: 4000.0}},
        {"ads-1": Usage(cpu_seconds=1.5, memory_bytes=20)},
        applied=1_700_000_000.0,
        ready={"ads-1": 5.5},
    )
    assert (member.seconds_to_boot, member.seconds_to_joined) == (2.5, 3.25)
    assert member.seconds_to_ready == 5.5
    assert (member.bytes_payload, member.bytes_frames, member.bytes_tcp) == (1500, 3000, 4000)
    assert (member.cpu_seconds, member.memory_bytes) == (1.5, 20)


def test_a_node_without_metrics_is_not_lost() -> None:
    (member,) = collect.members(
        [node(0, 30)],
        {},
        {"ads-0": Usage(cpu_seconds=0, memory_bytes=0)},
        applied=0.0,
        ready={},
    )
    assert (member.seconds_to_joined, member.seconds_to_ready) == (None, None)
    assert member.bytes_tcp is None


def test_a_node_that_is_too_busy_to_answer_is_asked_again() -> None:
    asked: list[str] = []

    def question(name: str) -> str:
        asked.append(name)
        if asked.count("ads-1") < 3 and name == "ads-1":
            raise ApiError(0, "Unreachable", "timed out")
        return f"I am {name}"

    assert collect.ask(["ads-0", "ads-1"], question) == {
        "ads-0": "I am ads-0",
        "ads-1": "I am ads-1",
    }
    assert asked.count("ads-0") == 1


def test_a_node_that_never_answers_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collect, "ANSWER_SECONDS", 0.0)

    def question(name: str) -> str:
        raise ApiError(0, "Unreachable", name)

    assert collect.ask(["ads-0"], question) == {}


def test_the_control_plane_counts_with_its_use_during_the_cell() -> None:
    before = {
        "etcd": Usage(cpu_seconds=10, memory_bytes=100),
        "kubelet": Usage(cpu_seconds=10, memory_bytes=100),
        "containerd-shims": Usage(cpu_seconds=4, memory_bytes=40),
    }
    after = {
        "etcd": Usage(cpu_seconds=12, memory_bytes=110),
        # Restarted in between.
        "kubelet": Usage(cpu_seconds=3, memory_bytes=90),
        "containerd-shims": Usage(cpu_seconds=5, memory_bytes=70),
        "operator": Usage(cpu_seconds=1, memory_bytes=50),
    }
    parts = {p.name: (p.cpu_seconds, p.memory_bytes) for p in collect.between(before, after)}
    assert parts == {
        "etcd": (2, 110),
        "kubelet": (3, 90),
        "containerd-shims": (1, 30),
        "operator": (1, 50),
    }


def test_the_kernel_s_figures_of_a_process() -> None:
    memory = procfs.memory(os.getpid())
    assert 0 < memory["Private_Dirty"] <= memory["Pss"] <= memory["Rss"]
