"""Kopf wiring, logs and the operator's own HTTP port."""

import json
import logging
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from kubernetes.aio.client import ApiClient, Configuration

from partisan_operator import app, logs
from partisan_operator.api.kinds import NAMESPACES
from partisan_operator.app import Application
from partisan_operator.console import server
from partisan_operator.console.hub import Hub
from partisan_operator.console.server import Console
from partisan_operator.settings import Settings
from partisan_operator.web import serve


class Recorder:
    """A fake scope."""

    def __init__(self) -> None:
        self.woken: list[tuple[str, str]] = []
        self.dissolved: list[tuple[str, str]] = []
        self.complete = 0
        self.known: set[tuple[str, str]] = set()
        self.in_trouble: list[str] = []
        self.obstacle = ""
        self.state = "leads"

    def learn(self, namespace: str, name: str, *, complete: bool = False) -> None:
        self.known.add((namespace, name))
        self.wake(namespace, name, complete=complete)

    def dissolve(self, namespace: str, name: str) -> None:
        self.dissolved.append((namespace, name))

    def dissolve_all(self, namespace: str) -> None:
        self.dissolved.append((namespace, "*"))

    def forget(self, namespace: str, name: str) -> None:
        self.known.discard((namespace, name))
        self.wake(namespace, name)

    def wake(self, namespace: str, name: str, *, complete: bool = False) -> None:
        self.woken.append((namespace, name))
        self.complete += complete

    def faults(self) -> list[str]:
        return self.in_trouble


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def application(recorder: Recorder) -> Application:
    made = Application(Settings())
    made._scopes = {"": recorder}  # type: ignore[dict-item]
    return made


def event(generation: int = 1, **metadata: Any) -> dict[str, Any]:
    fixed = {"namespace": "default", "name": "ads", "uid": "u", "generation": generation}
    return {"metadata": fixed | metadata}


def test_a_change_of_the_status_alone_wakes_no_loop(
    application: Application, recorder: Recorder
) -> None:
    application.cluster_event(event(), None)
    application.cluster_event(event(), "MODIFIED")
    assert len(recorder.woken) == len(recorder.known) == 1
    application.cluster_event(event(2), "MODIFIED")
    application.cluster_event(event(2, deletionTimestamp="now"), "MODIFIED")
    application.cluster_event(event(2, deletionTimestamp="now"), "DELETED")
    assert recorder.woken == [("default", "ads")] * 4
    assert recorder.known == set()


def test_the_end_of_a_cluster_is_announced_before_anything_else(
    application: Application, recorder: Recorder
) -> None:
    application.cluster_event(event(), None)
    assert recorder.dissolved == []
    application.cluster_event(event(), "DELETED")
    assert recorder.dissolved == [("default", "ads")]


def test_the_end_of_a_namespace_is_announced_when_it_begins(
    application: Application, recorder: Recorder
) -> None:
    namespace = {"metadata": {"name": "default"}}
    application.handle(NAMESPACES, namespace, "MODIFIED")
    assert recorder.dissolved == []
    namespace["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    application.handle(NAMESPACES, namespace, "MODIFIED")
    assert recorder.dissolved == [("default", "*")]


def test_the_end_of_a_cluster_is_not_that_of_its_successor(
    application: Application, recorder: Recorder
) -> None:
    application.cluster_event(event(uid="first"), "ADDED")
    application.cluster_event(event(uid="second"), "ADDED")
    application.cluster_event(event(uid="first"), "DELETED")
    assert recorder.known == {("default", "ads")}
    assert recorder.dissolved == []
    application.cluster_event(event(uid="second"), "DELETED")
    assert recorder.known == set()
    assert recorder.dissolved == [("default", "ads")]


def test_a_cluster_in_the_initial_list_is_always_recorded(
    application: Application, recorder: Recorder
) -> None:
    application.cluster_event(event(), "ADDED")
    assert recorder.complete == 0
    application.cluster_event(event(), None)
    assert recorder.woken == [("default", "ads")] * 2
    # Kinds of children may have come with it.
    assert recorder.complete == 1


def test_a_child_wakes_its_cluster_and_a_foreign_object_no_loop(
    application: Application, recorder: Recorder
) -> None:
    owner = {"kind": "PartisanCluster", "name": "ads", "controller": True}
    for metadata in (
        {"name": "ads-s1", "ownerReferences": [owner]},
        {"ownerReferences": [{**owner, "kind": "Other"}]},
        {},
    ):
        application.child_event(event(**metadata), "ADDED", counts_pods=True)
    assert recorder.woken == [("default", "ads")]
    assert recorder.complete == 0


@pytest.mark.parametrize("labelled", [False, True])
def test_a_changed_or_deleted_child_causes_a_complete_observation(
    application: Application, recorder: Recorder, labelled: bool
) -> None:
    owner = {"kind": "PartisanCluster", "name": "ads", "controller": True}
    mark = {"labels": {"partisan.dev/cluster": "ads"}} if labelled else {"ownerReferences": [owner]}
    child = {**event(**mark), "spec": {"a": 1}, "status": {"b": 1}}
    application.child_event(child, None)
    application.child_event({**child, "status": {"b": 2}}, "MODIFIED")
    application.child_event({**child, **event(2, **mark, resourceVersion="7")}, "MODIFIED")
    assert recorder.woken == []
    application.child_event({**child, "spec": {"a": 2}}, "MODIFIED")
    assert (recorder.woken, recorder.complete) == ([("default", "ads")], 1)
    application.child_event({**child, "spec": {"a": 2}}, "DELETED")
    assert recorder.complete == 2


def test_each_namespace_has_a_lease_of_its_own_and_a_foreign_one_none(recorder: Recorder) -> None:
    application = Application(Settings(namespaces=("default", "other")))
    application._scopes = {"default": recorder}  # type: ignore[dict-item]
    application.cluster_event(event(), None)
    application.cluster_event(event(namespace="third", uid="v"), None)
    assert recorder.woken == [("default", "ads")]


async def test_health_and_metrics(recorder: Recorder) -> None:
    runner = await serve([recorder], 0)
    port = next(address[1] for address in runner.addresses if address[0] == "0.0.0.0")
    base = f"http://127.0.0.1:{port}"
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{base}/healthz") as response:
            assert response.status == 200
        async with session.get(f"{base}/metrics") as response:
            assert "partisan_operator_reconcile_seconds" in await response.text()
        recorder.in_trouble = ["default/ads"]
        async with session.get(f"{base}/healthz") as response:
            assert response.status == 503
            assert "default/ads" in await response.text()
        async with session.get(f"{base}/readyz") as response:
            assert (response.status, await response.text()) == (200, "leads\n")
        recorder.obstacle = "nothing is known"
        async with session.get(f"{base}/readyz") as response:
            assert (response.status, await response.text()) == (503, "nothing is known\n")
    await runner.cleanup()


@pytest.mark.parametrize("form", ["text", "json"])
def test_logs_name_the_cluster(form: Any, capsys: pytest.CaptureFixture[str]) -> None:
    before = logging.root.handlers[:], logging.root.level
    try:
        logs.configure(Settings(log_format=form))
        adapter = logging.LoggerAdapter(logging.getLogger("x"), {"cluster": "default/ads"})
        adapter.info("it %s", "works")
    finally:
        logging.root.handlers, logging.root.level = before
    line = capsys.readouterr().err
    if form == "json":
        entry = json.loads(line)
        assert (entry["level"], entry["message"]) == ("info", "it works")
        assert entry["cluster"] == "default/ads"
    else:
        assert "INFO    [default/ads] it works" in line


def test_a_message_is_one_line_whatever_it_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    before = logging.root.handlers[:], logging.root.level
    try:
        logs.configure(Settings())
        logging.getLogger("x").warning("ads-0 answered %s", "no\n2026-01-01 INFO all is well\x1b[A")
    finally:
        logging.root.handlers, logging.root.level = before
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert "no\\x0a2026-01-01 INFO all is well\\x1b[A" in line


async def test_the_live_page_has_a_port_of_its_own_where_it_is_enabled(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    runners: list[web.AppRunner] = []

    async def serve_page(console: Console, port: int) -> web.AppRunner:
        runners.append(await server.serve(console, port))
        return runners[-1]

    monkeypatch.setattr(app, "serve_page", serve_page)
    client = ApiClient(Configuration())
    enabled, disabled = Application(Settings(console_port=0)), Application(Settings())
    enabled._scopes = {"": recorder}  # type: ignore[dict-item]
    async with await enabled._serve_page(client, {"": Hub()}):
        # Each family of addresses has a free port of its own.
        port = next(port for host, port, *_ in runners[0].addresses if host == "0.0.0.0")
        url = f"http://127.0.0.1:{port}/"
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            assert response.status == 200
    assert runners[0].addresses == []
    async with await disabled._serve_page(client, {}):
        assert len(runners) == 1
    await client.close()
