"""Reaches the leader from a standby, so that any pod of the operator can be asked.

== Whom a standby trusts ==

The Lease names the leader's pod. Users may be allowed to write the Lease, so it is only a hint: the
pod must be in the operator's own namespace and run as its own ServiceAccount. Its address comes
from the API server.

== What goes over the pod network ==

Not the viewer's token: the standby authenticates the viewer itself, and passes on which namespaces
it may see. It identifies itself by a token of its ServiceAccount for the audience `AUDIENCE` alone,
which the API server does not accept: a leaked one allows reading the page for ten minutes.
"""

from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import aiohttp

from partisan_operator.console.viewer import Selection

AUDIENCE = "partisan-operator-console"
"""Audience of the tokens by which pods of the operator identify themselves to each other."""

RELAY = "/v1/relay"

_TIMEOUT = aiohttp.ClientTimeout(total=None, sock_connect=5.0, sock_read=60.0)
"""The leader sends at least a comment every 15 seconds."""


class NoLeaderError(Exception):
    """There is no leader to ask at the moment; the text says why."""


@dataclass(frozen=True)
class Order:
    """A request of a standby to the leader."""

    scope: str
    """The namespace of the scope; empty for all namespaces."""

    what: str
    """`stream` or `history`."""

    namespaces: tuple[str, ...] | None
    cluster: tuple[str, str] | None
    last: str = ""

    @classmethod
    def of(cls, scope: str, what: str, selection: Selection, last: str) -> "Order":
        """Make an order for a viewer with that selection."""
        namespaces = selection.namespaces
        listed = None if namespaces is None else tuple(sorted(namespaces))
        return cls(scope, what, listed, selection.cluster, last)

    @classmethod
    def read(cls, body: Any) -> "Order":
        """Read an order from JSON. Raises `ValueError`."""
        try:
            namespaces, cluster = body["namespaces"], body["cluster"]
            return cls(
                scope=str(body["scope"]),
                what=str(body["what"]),
                namespaces=None if namespaces is None else tuple(map(str, namespaces)),
                cluster=None if cluster is None else (str(cluster[0]), str(cluster[1])),
                last=str(body["last"]),
            )
        except (KeyError, TypeError, IndexError) as error:
            raise ValueError("not an order of this version of the operator") from error

    @property
    def selection(self) -> Selection:
        """The selection of the viewer."""
        namespaces = None if self.namespaces is None else frozenset(self.namespaces)
        return Selection(namespaces, self.cluster)


@dataclass(frozen=True)
class Identity:
    """The operator's own pod, as the chart passes it."""

    namespace: str
    account: str
    """Its ServiceAccount."""

    token: Path
    """File with a token of the ServiceAccount, for `AUDIENCE`."""

    @property
    def user(self) -> str:
        """The user that a review of the token names."""
        return f"system:serviceaccount:{self.namespace}:{self.account}"


class Reader(Protocol):
    """The part of the API server's client that is needed."""

    async def get(self, kind: str, namespace: str, name: str) -> dict[str, Any] | None:
        """Return an object; None when there is none. Raises `KubeError`."""


class Peers:
    """The other pods of the operator."""

    def __init__(self, reader: Reader, identity: Identity, port: int) -> None:
        """Make a client; `port` is that of the page in all pods."""
        self._reader, self._identity, self._port = reader, identity, port
        self._session = aiohttp.ClientSession(trust_env=False, timeout=_TIMEOUT)

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def ask(self, holder: str, order: Order) -> AsyncGenerator[bytes]:
        """Yield the leader's answer as it comes.

        Raises `NoLeaderError` and `KubeError`, before the first piece only.
        """
        address = await self._address(holder)
        try:
            response = await self._session.post(
                f"http://{address}:{self._port}{RELAY}",
                json=asdict(order),
                headers={"Authorization": f"Bearer {self._identity.token.read_text().strip()}"},
                allow_redirects=False,
            )
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            reason = error or type(error).__name__
            raise NoLeaderError(f"the leader {holder} does not answer: {reason}") from error
        async with response:
            if response.status != 200:
                answer = ""
                # An answer that ends early is one without a text.
                with suppress(aiohttp.ClientError, TimeoutError):
                    answer = (await response.content.read(512)).decode(errors="replace").strip()
                raise NoLeaderError(f"the leader {holder} answered {response.status} {answer}")
            try:
                async for piece in response.content.iter_any():
                    yield piece
            except (aiohttp.ClientError, TimeoutError):
                # The leader is gone. The viewer reconnects, and finds the next one.
                return

    async def _address(self, holder: str) -> str:
        pod = holder.rpartition("_")[0]
        if not pod:
            raise NoLeaderError("no operator holds the Lease: a standby takes over within seconds")
        manifest = await self._reader.get("Pod", self._identity.namespace, pod)
        if manifest is None:
            raise NoLeaderError(
                f"the Lease names {pod}, which is no pod of namespace {self._identity.namespace}"
            )
        if manifest["spec"].get("serviceAccountName") != self._identity.account:
            raise NoLeaderError(f"the Lease names {pod}, which is no pod of this operator")
        address = (manifest.get("status") or {}).get("podIP") or ""
        if not address:
            raise NoLeaderError(f"the leader {pod} has no address yet")
        return f"[{address}]" if ":" in address else str(address)
