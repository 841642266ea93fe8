"""Kopf wiring, logs and the operator's own HTTP port."""

from __future__ import annotations

import itertools
import json
import logging
from typing import Any

import aiohttp
import kopf
import pytest

from partisan_operator import logs
from partisan_operator.app import Application, Backoffs, registry_of
from partisan_operator.settings import Settings
from partisan_operator.web import serve


class Recorder:
    """Takes the scope's place."""

    def __init__(self) -> None:
        self.woken: list[tuple[str, str]] = []
        self.dissolved: list[tuple[str, str]] = []
        self.known: set[tuple[str, str]] = set()
        self.in_trouble: list[str] = []
        self.obstacle = ""
        self.standing = "leads"

    def learn(self, namespace: str, name: str) -> None:
        self.known.add((namespace, name))
        self.wake(namespace, name)

    def dissolve(self, namespace: str, name: str) -> None:
        self.dissolved.append((namespace, name))

    def forget(self, namespace: str, name: str) -> None:
        self.known.discard((namespace, name))
        self.wake(namespace, name)

    def wake(self, namespace: str, name: str) -> None:
        self.woken.append((namespace, name))

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


def test_only_raw_events_are_handled_so_no_finalizer_is_needed(application: Application) -> None:
    registry = registry_of(application)
    assert len(list(registry._watching.get_all_handlers())) == 2
    for others in (registry._changing, registry._spawning, registry._indexing):
        assert list(others.get_all_handlers()) == []


def test_an_api_server_that_stays_away_is_waited_for() -> None:
    pauses = list(itertools.islice(Backoffs(), 1000))
    assert pauses == sorted(pauses)
    assert pauses[-1] == 10.0
    assert list(itertools.islice(Backoffs(), 4)) == pauses[:4]


async def test_a_watch_that_died_silently_is_noticed(
    application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing() -> None: ...

    monkeypatch.setattr(application, "start", nothing)
    registry, settings = registry_of(application), kopf.OperatorSettings()
    (startup,) = (h for h in registry._activities._handlers if h.id.endswith("startup"))
    await startup.fn(settings=settings)  # type: ignore[call-arg, misc]
    # The API server sends a bookmark every minute: without one the watch is dead.
    assert 60 < settings.watching.inactivity_timeout <= 120
    assert settings.watching.server_timeout is not None


def test_a_change_of_the_status_alone_wakes_nobody(
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


def test_the_end_of_a_cluster_is_passed_on_before_anything_else(
    application: Application, recorder: Recorder
) -> None:
    application.cluster_event(event(), None)
    assert recorder.dissolved == []
    application.cluster_event(event(), "DELETED")
    assert recorder.dissolved == [("default", "ads")]


def test_a_child_wakes_its_cluster_and_a_stranger_nobody(
    application: Application, recorder: Recorder
) -> None:
    owner = {"kind": "PartisanCluster", "name": "ads", "controller": True}
    application.child_event(event(name="ads-s1", ownerReferences=[owner]))
    application.child_event(event(ownerReferences=[{**owner, "kind": "Other"}]))
    application.child_event(event())
    assert recorder.woken == [("default", "ads")]


def test_each_namespace_has_a_lease_of_its_own_and_a_stranger_none(recorder: Recorder) -> None:
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
