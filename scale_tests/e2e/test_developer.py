"""A developer's commands on running nodes: processes, a shell, new code, a restart of the pods."""

import json
from pathlib import Path

import pytest

from scale_tests.cluster.kube import Json
from scale_tests.cluster.subject import Subject, manifest
from scale_tests.e2e.conftest import NewSubject, Plugin
from scale_tests.host.commands import CommandError

NODES = 3


@pytest.fixture(scope="module")
def bench(new_subject: NewSubject) -> Subject:
    """Nodes for development, without a workload."""
    rollout = {"maxUnavailable": NODES - 1}
    body = manifest("bench", NODES, workload=None, rollout=rollout, development=True)
    subject = new_subject("bench").apply(body)
    subject.wait_healthy(NODES)
    return subject


def processes(partisan: Plugin, order: str) -> tuple[int, list[Json]]:
    """How many processes a node has, and all of them in an order."""
    words = ("processes", "bench-1", "--sort", order, "--top", "10000", "-o", "json")
    answer = json.loads(partisan(*words))
    assert answer["node"] == "bench-1"
    return answer["processes"], answer["top"]


@pytest.mark.parametrize("order", ["memory", "reductions", "messages"])
def test_the_processes_of_a_node_are_listed_in_an_order(
    bench: Subject, partisan: Plugin, order: str
) -> None:
    count, top = processes(partisan, order)
    assert count == len(top)
    assert {"node_sup", "partisan_manager"} <= {process["name"] for process in top}
    figures = [process[order] for process in top]
    assert figures == sorted(figures, reverse=True)


def test_the_first_processes_are_a_table(bench: Subject, partisan: Plugin) -> None:
    title, header, *rows = partisan("processes", "bench-1", "--top", "4").splitlines()
    assert "bench-1: " in title
    assert header.split()[0] == "PID"
    assert len(rows) == 4


def test_a_shell_is_attached_to_a_node(bench: Subject, partisan: Plugin) -> None:
    shown = partisan("attach", "bench-2", stdin="{node(), partisan:node()}.\n")
    assert '{nonode@nohost,<<"bench-2">>}' in shown


def test_development_is_reported(bench: Subject) -> None:
    bench.wait("the condition", lambda status: status.is_true("Development"))
    bench.wait_events("HotCodeLoading")


def test_an_edit_runs_in_every_node_without_a_restart(
    bench: Subject, partisan: Plugin, tmp_path: Path
) -> None:
    before = bench.incarnations()
    source = tmp_path / "src" / "greeting.erl"
    source.parent.mkdir()
    build = "mkdir -p ebin && erlc -o ebin src/*.erl"
    for text in ("hello", "good morning"):
        source.write_text(f'-module(greeting).\n-export([text/0]).\ntext() -> "{text}".\n')
        words = ("dev", "bench", str(tmp_path), "--build", build, "--beams", "ebin/*.beam")
        assert f"greeting: loaded on {NODES} nodes\n" in partisan(*words)
        for node in before:
            assert f'{{said,"{text}"}}' in greeting(partisan, node)
        assert "No module has changed" in partisan(*words)
    assert bench.incarnations() == before


def greeting(partisan: Plugin, node: str) -> str:
    """The output of a node's shell for a call of the module."""
    return partisan("attach", node, stdin="{said, greeting:text()}.\n")


def test_a_cluster_that_is_not_for_development_takes_no_code(
    new_subject: NewSubject, partisan: Plugin, tmp_path: Path
) -> None:
    subject = new_subject("guarded").apply(manifest("guarded", 1, workload=None))
    with pytest.raises(CommandError, match='"development": true'):
        partisan("dev", "guarded", str(tmp_path), "--build", "true", "--beams", "*.beam")
    subject.wait_healthy(1)
    shown = partisan("attach", "guarded-0", stdin="node_code:load(<<>>).\n")
    assert "hot code loading is off" in shown


def test_a_restart_replaces_every_pod_and_with_it_the_code(
    bench: Subject, partisan: Plugin
) -> None:
    before = bench.uids()
    partisan("rollout", "restart", "bench")
    assert partisan("rollout", "status", "bench").splitlines()[-1].startswith("Settled")
    after = bench.uids()
    assert after.keys() == before.keys()
    assert not set(after.values()) & set(before.values())
    assert "undefined function greeting:text/0" in greeting(partisan, "bench-0")
