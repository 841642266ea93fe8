"""The HTTP port of the live page: authenticated streams, from here or from the leader."""

import asyncio
import json
import re
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Protocol

from aiohttp import web

from partisan_operator.api import metrics
from partisan_operator.api.errors import KubeError
from partisan_operator.console.assets import Assets
from partisan_operator.console.authority import LIFETIME, Authority, BusyError, Person
from partisan_operator.console.hub import Hub
from partisan_operator.console.peers import AUDIENCE, RELAY, NoLeaderError, Order, Peers
from partisan_operator.console.viewer import Selection

MAX_VIEWERS = 100
"""Streams and histories that one operator serves at a time."""

WRITE_TIMEOUT = 60.0
"""Seconds in which a viewer must take what it was sent."""

HINT = "open the page with `kubectl partisan web`, which sends your credentials"

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; connect-src 'self'; font-src 'self';"
    " img-src 'self' data:; script-src 'self'; style-src 'self'; worker-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    # Proxies such as nginx must not collect a stream before they pass it on.
    "X-Accel-Buffering": "no",
}

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_TYPES = {"stream": "text/event-stream", "history": "application/x-ndjson"}
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Scope(Protocol):
    """The clusters of one Lease."""

    @property
    def leading(self) -> bool:
        """Whether they are reconciled here."""

    @property
    def holder(self) -> str:
        """Identity of the leader; empty if there is none."""

    @property
    def namespaces(self) -> frozenset[str]:
        """The namespaces that have clusters."""


class Console:
    """The page of all scopes of this operator, by namespace; the key of all namespaces is empty."""

    def __init__(
        self,
        scopes: Mapping[str, tuple[Scope, Hub]],
        authority: Authority,
        peers: Peers,
        peer_user: str,
        *,
        assets: Assets | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make the page; `peer_user` is the user of the operator's own pods."""
        self._scopes, self._authority, self._peers = scopes, authority, peers
        self._peer_user, self._clock = peer_user, clock
        self._served = 0
        self._assets = assets or Assets()

    def application(self) -> web.Application:
        """Return the application, for a runner or a test."""
        application = web.Application(middlewares=[_errors])
        application.on_response_prepare.append(_secure)
        application.add_routes(
            [
                web.get("/", self._page),
                web.get("/{name}", self._page),
                web.get("/v1/stream", self._stream),
                web.get("/v1/history", self._history),
                web.post(RELAY, self._relay),
            ]
        )
        return application

    async def _page(self, request: web.Request) -> web.StreamResponse:
        return self._assets.answer(request, request.match_info.get("name", "index.html"))

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        return await self._serve(request, "stream")

    async def _history(self, request: web.Request) -> web.StreamResponse:
        return await self._serve(request, "history")

    async def _serve(self, request: web.Request, what: str) -> web.StreamResponse:
        """Serve a viewer."""
        key, namespace, cluster = self._asked(request)
        token = _token(request)

        async def selection() -> Selection:
            person = await self._authenticated(token)
            namespaces = {namespace} if namespace else self._scopes[key][0].namespaces
            readable = await self._authority.readable(person, namespaces)
            if namespace and readable is None:
                readable = frozenset({namespace})
            if readable is not None and not readable:
                where = f"in namespace {namespace}" if namespace else "in any namespace with one"
                raise web.HTTPForbidden(
                    text=f"{person.name} may not get partisanclusters.partisan.dev {where}\n"
                )
            return Selection(readable, cluster)

        selected = await selection()
        scope, hub = self._scopes[key]
        last = request.headers.get("Last-Event-ID", "")[:64]
        if scope.leading:
            source = _local(hub, what, selected, last)
        else:
            order = Order.of(key, what, selected, last)
            source = self._peers.ask(scope.holder, order)

        async def still_permitted() -> bool:
            try:
                return await selection() == selected
            except web.HTTPException:
                return False

        return await self._send(request, what, source, still_permitted)

    async def _relay(self, request: web.Request) -> web.StreamResponse:
        """Serve a standby, which has authenticated a viewer."""
        token = _token(request)
        peer = await self._authority.person(token, AUDIENCE)
        if peer is None or peer.name != self._peer_user:
            raise web.HTTPForbidden(text="only pods of this operator may ask this\n")
        try:
            order = Order.read(json.loads(await request.text()))
        except ValueError as error:
            raise web.HTTPBadRequest(text=f"{error}\n") from error
        scope, hub = self._scopes.get(order.scope, (None, None))
        if scope is None or hub is None or not scope.leading or order.what not in _TYPES:
            raise web.HTTPMisdirectedRequest(text="this operator is not the leader\n")
        source = _local(hub, order.what, order.selection, order.last)

        async def permitted() -> bool:
            return True

        return await self._send(request, order.what, source, permitted)

    async def _send(
        self,
        request: web.Request,
        what: str,
        source: AsyncGenerator[bytes],
        permitted: Callable[[], Awaitable[bool]],
    ) -> web.StreamResponse:
        """Pass a source on, as fast as the client reads and as long as it is permitted."""
        if self._served >= MAX_VIEWERS:
            raise BusyError(f"{MAX_VIEWERS} viewers are connected")
        self._served += 1
        metrics.console_viewers.set(self._served)
        response = web.StreamResponse(headers={"Content-Type": _TYPES[what]})
        try:
            try:
                async with aclosing(source):
                    # An error before the first piece is an answer of its own.
                    piece = await anext(source, None)
                    await response.prepare(request)
                    asked_at = self._clock()
                    while piece is not None:
                        async with asyncio.timeout(WRITE_TIMEOUT):
                            await response.write(piece)
                        metrics.console_bytes.inc(len(piece))
                        piece = await anext(source, None)
                        if self._clock() - asked_at >= LIFETIME:
                            asked_at = self._clock()
                            if not await permitted():
                                break
            except (KubeError, BusyError):
                if not response.prepared:
                    raise
                # The API server does not confirm that the client still may read.
            async with asyncio.timeout(WRITE_TIMEOUT):
                await response.write_eof()
        except (TimeoutError, ConnectionResetError):
            if not response.prepared:
                raise
            # The client reads no more: what waits for it would stay in memory with the connection.
            if request.transport is not None:
                request.transport.abort()
        finally:
            self._served -= 1
            metrics.console_viewers.set(self._served)
        return response

    def _asked(self, request: web.Request) -> tuple[str, str, tuple[str, str] | None]:
        """Return the key of the scope, the namespace if one is asked for, and the open cluster."""
        namespace, name = request.query.get("namespace", ""), request.query.get("cluster", "")
        for field, value in (("namespace", namespace), ("cluster", name)):
            if value and not _NAME.fullmatch(value):
                raise web.HTTPBadRequest(text=f"{field}: not the name of an object\n")
        if name and not namespace:
            raise web.HTTPBadRequest(text="namespace: needed with a cluster\n")
        only = "" if len(self._scopes) > 1 else next(iter(self._scopes))
        key = "" if "" in self._scopes else namespace or only
        if key not in self._scopes:
            raise web.HTTPNotFound(
                text="namespace: this operator serves single namespaces: choose one of them\n"
            )
        return key, namespace, (namespace, name) if name else None

    async def _authenticated(self, token: str) -> Person:
        person = await self._authority.person(token)
        if person is None:
            raise _unauthorized("the API server does not know this token")
        return person


async def serve(console: Console, port: int) -> web.AppRunner:
    """Serve until the returned runner is cleaned up."""
    runner = web.AppRunner(
        console.application(), access_log=None, handler_cancellation=True, shutdown_timeout=2.0
    )
    await runner.setup()
    await web.TCPSite(runner, port=port).start()
    return runner


def _local(hub: Hub, what: str, selection: Selection, last: str) -> AsyncGenerator[bytes]:
    return hub.stream(selection, last) if what == "stream" else hub.history(selection)


def _token(request: web.Request) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    # A token is ASCII. Other bytes are no text, of which neither a hash nor a review is made.
    if scheme.lower() != "bearer" or not token.strip() or not token.isascii():
        raise _unauthorized("no bearer token")
    return token.strip()


def _unauthorized(reason: str) -> web.HTTPUnauthorized:
    return web.HTTPUnauthorized(text=f"{reason}: {HINT}\n", headers={"WWW-Authenticate": "Bearer"})


async def _secure(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(HEADERS)
    response.headers.setdefault("Cache-Control", "no-store")


@web.middleware
async def _errors(request: web.Request, handler: _Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except NoLeaderError as error:
        return _later(f"no leader: {error}", seconds=2)
    except BusyError as error:
        return _later(str(error), seconds=10)
    except (KubeError, TimeoutError) as error:
        # Its message may quote the API server: enough for the log of the operator.
        code = error.code if isinstance(error, KubeError) else 0
        return _later(f"the API server did not answer the review (HTTP {code})", seconds=5)


def _later(text: str, *, seconds: int) -> web.Response:
    return web.Response(status=503, text=f"{text}\n", headers={"Retry-After": str(seconds)})
