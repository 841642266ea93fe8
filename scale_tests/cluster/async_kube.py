"""An asynchronous connection to an API server."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self, cast

import aiohttp
from kubernetes import client, config

from scale_tests.cluster.kube import Json

MERGE, APPLY = "application/merge-patch+json", "application/apply-patch+yaml"
_LONGEST_EVENT = 1 << 20

_LATER = {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT}
"""The answers of an overloaded server."""

_RETRY_SECONDS, _AGAIN_SECONDS = 120.0, 1.0


class AsyncCluster:
    """A connection to an API server, by a kubeconfig with a client's certificate."""

    def __init__(self, kubeconfig: Path) -> None:
        settings = client.Configuration()
        config.load_kube_config(config_file=str(kubeconfig), client_configuration=settings)
        tls = ssl.create_default_context(cafile=settings.ssl_ca_cert)
        tls.load_cert_chain(settings.cert_file, settings.key_file)
        self._server = settings.host.rstrip("/")
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=tls, limit=16),
            read_bufsize=_LONGEST_EVENT,
            # A request's turn among many here is not the server's to answer for.
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._session.close()

    async def request(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        content_type: str = "application/json",
        **query: str,
    ) -> Json:
        """One request and its answer. Raises aiohttp.ClientError, also for a refusal.

        Retries for two minutes while the server is busy or out of reach, so that a request may be
        sent twice.
        """
        loop = asyncio.get_running_loop()
        retry_until = None
        while True:
            try:
                async with self._session.request(
                    method,
                    f"{self._server}/{path}",
                    params=query,
                    data=None if body is None else json.dumps(body),
                    headers={"Content-Type": content_type},
                    timeout=aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=60),
                ) as answer:
                    answer.raise_for_status()
                    return cast(Json, await answer.json())
            except (aiohttp.ClientConnectionError, TimeoutError) as error:
                failure: aiohttp.ClientError = aiohttp.ClientError(f"no answer to {method} {path}")
                failure.__cause__ = error
            except aiohttp.ClientResponseError as error:
                if error.status not in _LATER:
                    raise
                failure = error
            retry_until = retry_until or loop.time() + _RETRY_SECONDS
            if loop.time() > retry_until:
                raise failure
            await asyncio.sleep(_AGAIN_SECONDS)

    async def delete(self, path: str, options: Json | None = None) -> None:
        """Deletes an object; one that is not there is no error. Raises aiohttp.ClientError."""
        try:
            await self.request("DELETE", path, options)
        except aiohttp.ClientResponseError as error:
            if error.status not in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
                raise

    async def watch(self, path: str, **query: str) -> AsyncIterator[tuple[str, Json]]:
        """Changes of a collection, beginning with all that is there, until the server ends it."""
        async with self._session.get(
            f"{self._server}/{path}", params={"watch": "true", **query}
        ) as answer:
            answer.raise_for_status()
            async for line in answer.content:
                event: dict[str, Any] = json.loads(line)
                yield event["type"], event["object"]
