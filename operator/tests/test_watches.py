"""Kopf in its thread, with an API server whose kinds come and go."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import kopf
import pytest

from loop_rig import until
from partisan_operator.api import kopf_run
from partisan_operator.api.kinds import CHILDREN, CLUSTERS, Kind
from partisan_operator.api.kopf_run import Backoffs, configure
from partisan_operator.api.kopf_run import registry_of as registry
from partisan_operator.api.watches import Watches
from watched_api import CLUSTERS as CLUSTERS_PATH
from watched_api import WatchedApi

SETS = "apis/apps/v1/statefulsets"


class World:
    """An API server, watches of it, and what they reported."""

    def __init__(self, api: WatchedApi) -> None:
        self.api = api
        self.reported: list[tuple[str, str, str | None]] = []
        self.watches = Watches(self._served, (), self._handle, period=0.05)

    def clusters(self) -> list[str]:
        """Return the names of the clusters that were reported, each once."""
        return list(dict.fromkeys(name for kind, name, _ in self.reported if kind == str(CLUSTERS)))

    async def _served(self, group: str, version: str) -> frozenset[str]:
        return self.api.resources(group, version)

    def _handle(self, kind: Kind, manifest: Mapping[str, Any], event: str | None) -> None:
        self.reported.append((str(kind), manifest["metadata"]["name"], event))


@pytest.fixture
async def api(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[WatchedApi]:
    api = WatchedApi()
    monkeypatch.setenv("KUBECONFIG", str(await api.start(tmp_path)))
    yield api
    await api.stop()


@pytest.fixture
async def world(api: WatchedApi) -> AsyncIterator[World]:
    async with _watching(api) as world:
        yield world


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short timeouts of watches and requests."""
    monkeypatch.setattr(kopf_run, "SILENCE", 0.5)
    monkeypatch.setattr(kopf_run, "ANSWER_TIMEOUT", 0.5)


@asynccontextmanager
async def _watching(api: WatchedApi) -> AsyncIterator[World]:
    world = World(api)
    running = asyncio.create_task(world.watches.run())
    try:
        yield world
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_clusters_are_served_when_their_crd_is_installed_after_the_operator(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    await until(lambda: "apply the CustomResourceDefinition" in world.watches.obstacle)
    await until(lambda: world.api.watched(SETS))
    assert "apply the CustomResourceDefinition" in caplog.text
    world.api.served.add(CLUSTERS_PATH)
    world.api.add(CLUSTERS_PATH, name="late", uid="1")
    await until(lambda: world.clusters() == ["late"])
    await until(lambda: world.watches.obstacle == "")


async def test_clusters_are_served_again_after_their_crd_returns(world: World) -> None:
    world.api.served.add(CLUSTERS_PATH)
    world.api.add(CLUSTERS_PATH, name="old", uid="1")
    await until(lambda: world.clusters() == ["old"] and world.watches.obstacle == "")
    world.api.remove(CLUSTERS_PATH)
    await until(lambda: world.watches.obstacle != "")
    assert "partisanclusters.partisan.dev are not watched" in world.watches.obstacle
    world.api.served.add(CLUSTERS_PATH)
    world.api.add(CLUSTERS_PATH, name="new", uid="2")
    await until(lambda: world.clusters() == ["old", "new"])
    await until(lambda: world.watches.obstacle == "")


async def test_a_recreated_crd_is_watched_again(world: World) -> None:
    world.api.served.add(CLUSTERS_PATH)
    await until(lambda: world.api.watched(CLUSTERS_PATH))
    world.api.remove(CLUSTERS_PATH)
    world.api.served.add(CLUSTERS_PATH)
    await until(lambda: world.api.watched(CLUSTERS_PATH))
    world.api.add(CLUSTERS_PATH, name="new", uid="2")
    await until(lambda: world.clusters() == ["new"])


async def test_children_of_every_kind_are_watched_by_their_label_alone(world: World) -> None:
    defined = {f"apis/{kind.group}/{kind.version}/{kind.plural}" for kind in CHILDREN if kind.group}
    world.api.served |= defined
    paths = defined | {"api/v1/services", "api/v1/configmaps"}
    assert len(paths) == len(CHILDREN)
    await until(lambda: all(map(world.api.watched, paths)))
    selector = "app.kubernetes.io/managed-by=partisan-operator"
    assert {world.api.selectors[path] for path in paths} == {selector}
    world.api.add("api/v1/services", name="ads", uid="3")
    await until(lambda: ("services", "ads", "ADDED") in world.reported)


async def test_namespaces_are_watched_where_all_of_them_are_served(world: World) -> None:
    world.api.served.add("api/v1/namespaces")
    await until(lambda: world.api.watched("api/v1/namespaces"))
    assert not world.api.selectors.get("api/v1/namespaces")


def test_only_raw_events_are_handled_so_no_finalizer_is_needed() -> None:
    found = registry(lambda *_: None, (CLUSTERS, *CHILDREN))
    assert len(list(found._watching.get_all_handlers())) == 1 + len(CHILDREN)
    for others in (found._changing, found._spawning, found._indexing):
        assert list(others.get_all_handlers()) == []


def test_the_operator_waits_for_the_api_server() -> None:
    pauses = list(itertools.islice(Backoffs(), 1000))
    assert pauses == sorted(pauses)
    assert pauses[-1] == 10.0
    assert list(itertools.islice(Backoffs(), 4)) == pauses[:4]


async def test_a_watch_whose_connection_is_dead_begins_again(api: WatchedApi, brief: None) -> None:
    async with _watching(api) as world:
        api.served.add(CLUSTERS_PATH)
        await until(lambda: api.watched(CLUSTERS_PATH))
        api.hanging.add(CLUSTERS_PATH)
        api.add(CLUSTERS_PATH, name="unseen", uid="1")
        # A watch that is accepted but never answered, then another one.
        await until(lambda: api.unanswered[CLUSTERS_PATH] > 1)
        assert world.clusters() == []
        api.hanging.clear()
        await until(lambda: world.clusters() == ["unseen"])


async def test_an_unanswered_list_is_repeated(api: WatchedApi, brief: None) -> None:
    api.served.add(CLUSTERS_PATH)
    api.hanging.add(CLUSTERS_PATH)
    api.add(CLUSTERS_PATH, name="unseen", uid="1")
    async with _watching(api) as world:
        await until(lambda: api.unanswered[CLUSTERS_PATH] > 1)
        api.hanging.clear()
        await until(lambda: world.clusters() == ["unseen"])


def test_a_dead_watch_is_detected_before_the_server_timeout() -> None:
    settings = kopf.OperatorSettings()
    configure(settings)
    # The API server sends a bookmark every minute: without one the watch is dead.
    assert 60 < settings.watching.inactivity_timeout < (settings.watching.server_timeout or 0)
    assert settings.networking.request_timeout is not None
