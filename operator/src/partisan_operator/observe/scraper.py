"""Scrapes the nodes over HTTP: concurrently, with timeouts, and without trusting their answers.

A node that hangs occupies one connection slot until the timeout; an answer that is too long is cut
off; a report under another node's name is rejected. Redirects are not followed: a node would choose
where the operator sends requests.
"""

import asyncio
import ssl
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any

import aiohttp
from pydantic import ValidationError

from partisan_operator.children.naming import HTTP_PORT
from partisan_operator.observe.observation import Endpoint, Seen, Trust
from partisan_operator.observe.report import NodeReport

MAX_ANSWER = 512 * 1024
"""Most bytes of an answer. A report in a cluster of 1,024 nodes has about a tenth of it."""


class ScrapeError(Exception):
    """A node gave no usable answer; the text is the reason."""


class RefusedError(ScrapeError):
    """A node rejected an order; the text has its answer."""

    def __init__(self, text: str, *, unauthorized: bool = False) -> None:
        """Make an error; `unauthorized` is whether the credential was rejected."""
        super().__init__(text)
        self.unauthorized = unauthorized


class Scraper:
    """Reads the nodes' reports and sends them orders."""

    def __init__(
        self,
        *,
        timeout: float,
        concurrency: int,
        clock: Callable[[], datetime],
        port: int = HTTP_PORT,
    ) -> None:
        """Make a scraper.

        `timeout` bounds one request in seconds, `concurrency` the requests at a time over all
        clusters; `clock` stamps the reports.
        """
        self._timeout = aiohttp.ClientTimeout(total=timeout)
        self._slots = asyncio.Semaphore(concurrency)
        self._share = max(1, concurrency // 2)
        self._clock = clock
        self._port = port
        # Connections are not kept: each idle one would occupy a process of its node.
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, force_close=True), trust_env=False
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def scrape(
        self, endpoints: Iterable[Endpoint], *, traffic: bool = False
    ) -> tuple[dict[str, Seen], dict[str, str]]:
        """Return the reports of one cluster, and for its other pods the reason why there is none.

        `traffic` asks for the traffic to each peer too; older nodes do not report it.
        """
        wanted = list(endpoints)
        path = "/status?traffic" if traffic else "/status"
        # Half of the slots, and of the queue for them: if all nodes hang, other clusters go on.
        share = asyncio.Semaphore(self._share)
        answers = await asyncio.gather(
            *(self._attempt(endpoint, path, share) for endpoint in wanted)
        )
        reports, failures = {}, {}
        for endpoint, answer in zip(wanted, answers, strict=True):
            if isinstance(answer, Seen):
                reports[endpoint.pod] = answer
            else:
                failures[endpoint.pod] = str(answer)
        return reports, failures

    async def start_run(self, endpoint: Endpoint, token: str, run: str) -> None:
        """Ask one node to start a run; the start spreads from there.

        Raises `RefusedError` if the node rejects it, and `ScrapeError` if it does not answer.
        """
        await self._post(endpoint, "/workload/start", token, run)

    async def configure(self, endpoint: Endpoint, token: str, text: str) -> None:
        """Send one node a configuration, which it follows as far as a running node can.

        Raises `RefusedError` if the node rejects it, and `ScrapeError` if it does not answer.
        """
        async with self._slots:
            await self._post(endpoint, "/configuration", token, text)

    async def dissolve(self, endpoint: Endpoint, token: str) -> None:
        """Notify one node of the cluster's deletion; it floods the notice.

        Raises `RefusedError` if the node rejects it, and `ScrapeError` if it does not answer.
        """
        await self._post(endpoint, "/dissolve", token, "")

    async def _post(self, endpoint: Endpoint, path: str, token: str, body: str) -> None:
        url = f"{self._base(endpoint)}{path}"
        headers = {"Authorization": f"Bearer {token}"}
        try:
            async with self._session.post(
                url,
                data=body.encode(),
                headers=headers,
                timeout=self._timeout,
                allow_redirects=False,
                **_verification(endpoint),
            ) as response:
                answer = (await self._body(response)).decode(errors="replace").strip()
                if 400 <= response.status < 500:
                    raise RefusedError(
                        f"{endpoint.pod} to {path}: {response.status} {answer[:512]}",
                        unauthorized=response.status == 401,
                    )
                if response.status not in (200, 202):
                    raise ScrapeError(f"{endpoint.pod} answered {response.status} to {path}")
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ScrapeError(f"{endpoint.pod}: {_reason(error)}") from error

    async def _attempt(
        self, endpoint: Endpoint, path: str, share: asyncio.Semaphore
    ) -> Seen | ScrapeError:
        try:
            async with share, self._slots:
                report = await self._read(endpoint, path)
        except ScrapeError as error:
            return error
        return Seen(report, endpoint.uid, self._clock())

    async def _read(self, endpoint: Endpoint, path: str) -> NodeReport:
        try:
            async with self._session.get(
                f"{self._base(endpoint)}{path}",
                timeout=self._timeout,
                allow_redirects=False,
                **_verification(endpoint),
            ) as response:
                if response.status != 200:
                    raise ScrapeError(f"HTTP status {response.status}")
                body = await self._body(response)
            report = NodeReport.model_validate_json(body)
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            where = ".".join(map(str, first["loc"]))
            raise ScrapeError(f"{where}: {first['msg']}") from error
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ScrapeError(_reason(error)) from error
        if report.node != endpoint.pod:
            raise ScrapeError(f"it reports as {report.node!r}")
        return report

    @staticmethod
    async def _body(response: aiohttp.ClientResponse) -> bytes:
        body = bytearray()
        async for chunk in response.content.iter_any():
            body += chunk
            if len(body) > MAX_ANSWER:
                raise ScrapeError(f"the answer exceeds {MAX_ANSWER} bytes")
        return bytes(body)

    def _base(self, endpoint: Endpoint) -> str:
        host = f"[{endpoint.address}]" if ":" in endpoint.address else endpoint.address
        scheme = "http" if endpoint.trust is None else "https"
        return f"{scheme}://{host}:{self._port}"


def _verification(endpoint: Endpoint) -> dict[str, Any]:
    """Return aiohttp's options for the verification of the node's certificate.

    Raises `ScrapeError` where that is impossible: no request is sent then.
    """
    if endpoint.trust is None:
        return {}
    return {"ssl": _context(endpoint.trust), "server_hostname": endpoint.trust.server_name}


@lru_cache(maxsize=1024)
def _context(trust: Trust) -> ssl.SSLContext:
    """Make a context that trusts the cluster's authorities alone."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_verify_locations(cadata=trust.authorities)
    except (ssl.SSLError, ValueError) as error:
        raise ScrapeError("the Secret with its certificate has no usable ca.crt") from error
    return context


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
