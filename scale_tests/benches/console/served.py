"""The operator's page on loopback: its own server and `kubectl partisan web`, a fake API server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any

from aiohttp import web
from partisan_operator.cli.local_page import LocalPage
from partisan_operator.console.authority import Authority
from partisan_operator.console.hub import Hub
from partisan_operator.console.peers import Identity, Peers
from partisan_operator.console.server import Console

TOKEN = "viewer"


@dataclass
class Leader:
    """The scope of all namespaces, led here."""

    leading: bool = True
    holder: str = ""
    namespaces: frozenset[str] = frozenset({"default"})


class ApiServer:
    """An API server that knows one viewer, who may read everything, and no pods."""

    async def review(self, kind: str, spec: dict[str, Any]) -> dict[str, Any]:
        """Permits the viewer."""
        if kind == "TokenReview":
            return {"authenticated": spec["token"] == TOKEN, "user": {"username": TOKEN}}
        return {"allowed": True}

    async def get(self, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        """Finds nothing: while `Leader.leading` is False, there is no leader."""


@dataclass
class Served:
    """A page that is served."""

    hub: Hub
    leader: Leader
    port: int
    """Of the operator, which wants the token."""

    local: LocalPage
    """In front of it, as `kubectl partisan web` is."""


@asynccontextmanager
async def served(hub: Hub) -> AsyncIterator[Served]:
    """Serves the page of a hub until the block is left."""
    api, leader = ApiServer(), Leader()
    peers = Peers(api, Identity("system", "operator", Path()), 1)
    console = Console({"": (leader, hub)}, Authority(api), peers, "operator")
    runner = web.AppRunner(
        console.application(), access_log=None, handler_cancellation=True, shutdown_timeout=2.0
    )
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    port = runner.addresses[0][1]
    local = LocalPage(port, TOKEN)
    Thread(target=local.serve_forever, daemon=True).start()
    try:
        yield Served(hub, leader, port, local)
    finally:
        hub.ended()
        local.shutdown()
        local.server_close()
        await runner.cleanup()
        await peers.close()
