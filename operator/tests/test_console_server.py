"""The page's port: who may see what, the leader behind any pod, and bounds."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp.test_utils import TestClient, TestServer

from console_rig import OPERATOR, FakeScope, Page, Reviewer, ads, seen, status
from loop_rig import until
from partisan_operator.api.errors import KubeError
from partisan_operator.console import authority as authorities
from partisan_operator.console import server as servers
from partisan_operator.console.assets import Assets
from partisan_operator.console.authority import Authority, BusyError, Person
from partisan_operator.console.hub import Hub
from partisan_operator.console.peers import RELAY, Identity, NoLeaderError, Order, Peers
from partisan_operator.console.server import Console
from partisan_operator.console.viewer import Selection

LINK = seen(("ads-0", "ads-1"))
ALICE = {"Authorization": "Bearer alice-token"}
BOB = {"Authorization": "Bearer bob-token"}
PEER = {"Authorization": "Bearer peer-token"}


class Pods:
    """The API server's pods."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Any]] = {}

    async def get(self, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        assert (kind, namespace) == ("Pod", "system")
        return self.found.get(name)


class Rig:
    """Two operators, of which the first leads, with one page each."""

    def __init__(self, token: Path) -> None:
        self.reviewer, self.pods, self.now = Reviewer(), Pods(), 1000.0
        self.hub, self.scope = Hub(), FakeScope()
        self.hub.began(lambda namespace, name: None)
        self.standby = FakeScope(leading=False)
        self._token = token
        self._clients: list[TestClient[Any, Any]] = []
        self._peers: list[Peers] = []

    async def page(
        self, scope: FakeScope, hub: Hub, *, key: str = "", assets: Assets | None = None
    ) -> TestClient[Any, Any]:
        """Serve a page; a port of the leader is known to later ones."""
        port = self._clients[0].port if self._clients else 0
        peers = Peers(self.pods, Identity("system", "operator", self._token), port or 0)
        authority = Authority(self.reviewer, self.clock)
        console = Console(
            {key: (scope, hub)}, authority, peers, OPERATOR, assets=assets, clock=self.clock
        )
        client = TestClient(TestServer(console.application()))
        await client.start_server()
        self._clients.append(client)
        self._peers.append(peers)
        return client

    def clock(self) -> float:
        return self.now

    def name_leader(self, **spec: Any) -> None:
        """Let the API server know the leader's pod."""
        self.pods.found["op-1"] = {
            "spec": {"serviceAccountName": "operator"} | spec,
            "status": {"podIP": "127.0.0.1"},
        }

    async def close(self) -> None:
        for client in self._clients:
            await client.close()
        for peers in self._peers:
            await peers.close()


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[Rig]:
    token = tmp_path / "token"
    token.write_text("peer-token\n")
    made = Rig(token)
    yield made
    await made.close()


@pytest.fixture
async def leader(rig: Rig) -> TestClient[Any, Any]:
    return await rig.page(rig.scope, rig.hub)


async def read(response: aiohttp.ClientResponse, page: Page) -> None:
    """Read events up to the end of one, and hand them to the page."""
    data = b""
    while not data.endswith(b"\n\n"):
        piece = await response.content.readany()
        assert piece, "the stream ended"
        data += piece
    page.receive(data)


async def test_the_page_needs_no_token_and_admits_no_foreign_content(
    leader: TestClient[Any, Any],
) -> None:
    response = await leader.get("/")
    assert response.status == 200
    assert response.content_type == "text/html"
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "blob" not in policy
    assert response.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_file_of_the_page_is_sent_once(rig: Rig, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<title>page</title>")
    (tmp_path / "app.js").write_text("export {};")
    (tmp_path / "lib").mkdir()
    leader = await rig.page(rig.scope, rig.hub, assets=Assets(tmp_path))
    assert await (await leader.get("/")).text() == "<title>page</title>"
    script = await leader.get("/app.js")
    assert script.content_type == "text/javascript"
    assert script.headers["Cache-Control"] == "no-cache"
    again = await leader.get("/app.js", headers={"If-None-Match": script.headers["ETag"]})
    assert (again.status, await again.read()) == (304, b"")
    (tmp_path / "app.js").write_text("export {}; // newer")
    newer = await rig.page(rig.scope, rig.hub, assets=Assets(tmp_path))
    changed = await newer.get("/app.js", headers={"If-None-Match": script.headers["ETag"]})
    assert (changed.status, await changed.text()) == (200, "export {}; // newer")
    for absent in ("/lib", "/other.js", "/..%2Fserver.py"):
        assert (await leader.get(absent)).status == 404


@pytest.mark.parametrize("path", ["/v1/stream", "/v1/history"])
@pytest.mark.parametrize("value", ["", "Basic YTpi", "Bearer ", "Bearer unknown"])
async def test_an_unknown_viewer_is_refused_with_a_hint(
    leader: TestClient[Any, Any], path: str, value: str
) -> None:
    response = await leader.get(path, headers={"Authorization": value} if value else {})
    assert response.status == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert "Content-Security-Policy" in response.headers
    assert "kubectl partisan web" in await response.text()


@pytest.mark.parametrize("request_line", ["GET /v1/stream", f"POST {RELAY}"])
async def test_bytes_that_are_no_text_are_no_token(
    leader: TestClient[Any, Any], request_line: str
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", leader.port)
    head = f"{request_line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer "
    writer.write(head.encode() + b"\xff\r\n\r\n")
    answer = await reader.read()
    writer.close()
    assert answer.startswith(b"HTTP/1.1 401 ")


async def test_a_viewer_follows_the_clusters_that_it_may_read(
    rig: Rig, leader: TestClient[Any, Any]
) -> None:
    rig.hub.observed(ads(), status(1), LINK)
    rig.hub.observed(ads("b", namespace="other"), status(1), LINK)
    alice, bob = Page(), Page()
    async with leader.get("/v1/stream", headers=ALICE) as everything:
        assert everything.content_type == "text/event-stream"
        async with leader.get("/v1/stream", headers=BOB) as part:
            await read(everything, alice)
            await read(part, bob)
            assert set(alice.document["clusters"]) == {"default/ads", "other/b"}
            assert set(bob.document["clusters"]) == {"default/ads"}
            rig.hub.observed(ads("c", namespace="other"), status(1), LINK)
            rig.hub.observed(ads(), status(2), LINK)
            await read(part, bob)
    assert set(bob.document["clusters"]) == {"default/ads"}
    assert bob.joined() == 2


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("namespace=other", 403),
        ("namespace=default&cluster=ads", 200),
        ("cluster=ads", 400),
        ("namespace=../x", 400),
        ("namespace=default&cluster=A", 400),
    ],
)
async def test_a_query_is_checked(
    rig: Rig, leader: TestClient[Any, Any], query: str, code: int
) -> None:
    rig.hub.observed(ads(), status(1), LINK)
    async with leader.get(f"/v1/stream?{query}", headers=BOB) as response:
        assert response.status == code


async def test_a_viewer_without_any_right_is_told_which_one(
    rig: Rig, leader: TestClient[Any, Any]
) -> None:
    rig.reviewer.rights.clear()
    response = await leader.get("/v1/stream", headers=BOB)
    assert response.status == 403
    assert "bob may not get partisanclusters.partisan.dev" in await response.text()


@pytest.mark.parametrize("withdraw", ["right", "token"])
async def test_a_withdrawn_right_or_token_ends_the_stream(
    rig: Rig,
    leader: TestClient[Any, Any],
    monkeypatch: pytest.MonkeyPatch,
    withdraw: str,
) -> None:
    page = Page()
    rig.hub.observed(ads(), status(1), LINK)
    async with leader.get("/v1/stream", headers=BOB) as response:
        await read(response, page)
        if withdraw == "right":
            rig.reviewer.rights.discard(("bob", "default"))
        else:
            del rig.reviewer.people["bob-token"]
        rig.now += authorities.LIFETIME
        rig.hub.observed(ads(), status(2), LINK)
        assert await response.content.read() == b""


async def test_answers_of_the_api_server_are_reused_for_a_while(
    rig: Rig, leader: TestClient[Any, Any]
) -> None:
    for _ in range(3):
        async with leader.get("/v1/history", headers=ALICE) as response:
            await response.read()
    assert rig.reviewer.asked == [
        ("TokenReview", "alice-token"),
        ("SubjectAccessReview", "alice "),
    ]
    rig.now += authorities.LIFETIME
    async with leader.get("/v1/history", headers=ALICE) as response:
        await response.read()
    assert len(rig.reviewer.asked) == 4


async def test_an_api_server_that_gives_no_verdict_admits_nobody(
    rig: Rig, leader: TestClient[Any, Any]
) -> None:
    rig.reviewer.failure = KubeError(500, "a secret detail")
    response = await leader.get("/v1/stream", headers=ALICE)
    assert response.status == 503
    assert "Retry-After" in response.headers
    assert "secret" not in await response.text()


async def test_the_number_of_viewers_is_bounded(
    rig: Rig, leader: TestClient[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(servers, "MAX_VIEWERS", 1)
    page = Page()
    async with leader.get("/v1/stream", headers=ALICE) as first:
        await read(first, page)
        response = await leader.get("/v1/stream", headers=ALICE)
        assert response.status == 503
        assert response.headers["Retry-After"] == "10"
    await until(lambda: not rig.hub._viewers)
    async with leader.get("/v1/stream", headers=ALICE) as again:
        assert again.status == 200


async def test_a_viewer_that_reads_no_more_is_disconnected(
    leader: TestClient[Any, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def endless(*_: object) -> AsyncGenerator[bytes]:
        while True:
            yield bytes(1_000_000)

    monkeypatch.setattr(servers, "WRITE_TIMEOUT", 0.05)
    monkeypatch.setattr(servers, "_local", endless)
    _, writer = await asyncio.open_connection("127.0.0.1", leader.port)
    token = ALICE["Authorization"]
    writer.write(f"GET /v1/stream HTTP/1.1\r\nHost: x\r\nAuthorization: {token}\r\n\r\n".encode())
    connections = leader.server.handler
    async with asyncio.timeout(10):
        await until(lambda: len(connections.connections) == 1)
        await until(lambda: not connections.connections)
    writer.close()


async def test_the_history_begins_with_the_document_before_it(
    rig: Rig, leader: TestClient[Any, Any]
) -> None:
    async with leader.get("/v1/stream", headers=ALICE) as stream:
        await read(stream, Page())
        rig.hub.observed(ads(), status(1), LINK)
        rig.hub.observed(ads("b", namespace="other"), status(1), LINK)
        async with leader.get("/v1/history", headers=BOB) as response:
            lines = [json.loads(line) for line in (await response.text()).splitlines()]
    assert lines[0]["document"] == {"clusters": {}, "details": {}}
    assert lines[0]["epoch"] == rig.hub.epoch
    assert [list(line["patch"]["clusters"]) for line in lines[1:]] == [["default/ads"]]


async def test_a_standby_shows_what_the_leader_observes(
    rig: Rig, leader: TestClient[Any, Any]
) -> None:
    standby = await rig.page(rig.standby, Hub())
    rig.name_leader()
    rig.hub.observed(ads(), status(1), LINK)
    rig.hub.observed(ads("b", namespace="other"), status(1), LINK)
    page = Page()
    url = "/v1/stream?namespace=default&cluster=ads"
    async with standby.get(url, headers=BOB) as response:
        await read(response, page)
        rig.hub.observed(ads(), status(2), LINK)
        await read(response, page)
        assert page.joined() == 2
        assert set(page.document["clusters"]) == {"default/ads"}
        assert set(page.document["details"]) == {"default/ads"}
        rig.hub.ended()
        assert await response.content.read() == b""
    # No token of a viewer went to the leader.
    assert ("TokenReview", "peer-token") in rig.reviewer.asked
    async with standby.get("/v1/history", headers=BOB) as history:
        assert history.status == 200


async def test_a_standby_without_a_leader_says_so(rig: Rig, leader: TestClient[Any, Any]) -> None:
    standby = await rig.page(rig.standby, Hub())

    async def answer() -> str:
        response = await standby.get("/v1/stream", headers=ALICE)
        assert response.status == 503
        assert response.headers["Retry-After"] == "2"
        return await response.text()

    assert "op-1, which is no pod of namespace system" in await answer()
    rig.name_leader(serviceAccountName="mallory")
    assert "which is no pod of this operator" in await answer()
    rig.name_leader()
    rig.scope.leading = False
    assert "answered 421" in await answer()
    rig.standby.holder = ""
    assert "no operator holds the Lease" in await answer()


async def test_a_leader_whose_refusal_ends_early_is_named(rig: Rig, tmp_path: Path) -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 503 no\r\nContent-Length: 9\r\n\r\n")
        writer.close()

    rig.name_leader()
    server = await asyncio.start_server(refuse, "127.0.0.1")
    port = server.sockets[0].getsockname()[1]
    peers = Peers(rig.pods, Identity("system", "operator", tmp_path / "token"), port)
    with pytest.raises(NoLeaderError, match="the leader op-1_x answered 503"):
        await anext(peers.ask("op-1_x", Order.of("", "stream", Selection(None), "")))
    await peers.close()
    server.close()


@pytest.mark.parametrize("headers", [{}, ALICE, {"Authorization": "Bearer other-peer"}])
async def test_only_pods_of_the_operator_may_name_their_own_rights(
    rig: Rig, leader: TestClient[Any, Any], headers: dict[str, str]
) -> None:
    rig.reviewer.peers["other-peer"] = "system:serviceaccount:default:mallory"
    response = await leader.post(RELAY, headers=headers, json={})
    assert response.status in (401, 403)


@pytest.mark.parametrize("body", ["", "[]", "{}", '{"scope": "", "what": "stream"}'])
async def test_an_order_of_another_version_is_refused(
    leader: TestClient[Any, Any], body: str
) -> None:
    response = await leader.post(RELAY, headers=PEER, data=body)
    assert response.status == 400


async def test_single_namespaces_have_a_stream_each(rig: Rig) -> None:
    client = await rig.page(rig.scope, rig.hub, key="default")
    rig.hub.observed(ads(), status(1), LINK)
    async with client.get("/v1/stream", headers=BOB) as response:
        page = Page()
        await read(response, page)
        assert page.joined() == 1
    response = await client.get("/v1/stream?namespace=other", headers=ALICE)
    assert response.status == 404


def test_an_order_survives_the_wire() -> None:
    for selection in (Selection(None), Selection(frozenset({"b", "a"}), ("a", "x"))):
        order = Order.of("", "stream", selection, "id")
        assert Order.read(json.loads(json.dumps(order.__dict__))).selection == selection


async def test_a_token_for_another_audience_is_no_peer() -> None:
    class Old(Reviewer):
        async def review(self, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
            # An API server that ignores audiences.
            return {"authenticated": True, "user": {"username": OPERATOR}}

    assert await Authority(Old()).person("any", "audience") is None
    assert await Authority(Old()).person("any") == Person(OPERATOR)


async def test_invented_tokens_cannot_flood_the_api_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(authorities, "MAX_WAITING", 0)
    with pytest.raises(BusyError):
        await Authority(Reviewer()).person("any")
    monkeypatch.setattr(authorities, "MAX_WAITING", 1)
    monkeypatch.setattr(authorities, "MAX_KEPT", 2)
    authority = Authority(Reviewer())
    for number in range(5):
        assert await authority.person(f"token {number}") is None
    assert len(authority._people._answers) == 2
