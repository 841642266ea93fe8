"""A request gets its answer from a server that is busy, and a refusal at once."""

import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from scale_tests.cluster import async_kube
from scale_tests.cluster.async_kube import AsyncCluster
from scale_tests.localkube.certificates import Identity, issue, issue_authority

pytestmark = pytest.mark.asyncio

PATH = "api/v1/nodes"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with an authority, a server's certificate and a client's."""
    directory = tmp_path_factory.mktemp("certificates")
    issue_authority(directory)
    issue(directory, Identity(file="server", user="server", addresses=("IP:127.0.0.1",)))
    issue(directory, Identity(file="client", user="client"))
    return directory


@asynccontextmanager
async def answering(certificates: Path, *statuses: int) -> AsyncIterator[AsyncCluster]:
    """A connection to a server that answers with these in turn; 0 is no answer at all."""
    left = list(statuses)

    async def answer(request: web.Request) -> web.Response:
        status = left.pop(0)
        if status == 0:
            assert request.transport is not None
            request.transport.close()
        return web.json_response({"left": len(left)}, status=status or 200)

    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificates / "server.crt", certificates / "server.key")
    application = web.Application()
    application.router.add_get(f"/{PATH}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls)
    await site.start()
    port = runner.addresses[0][1]
    try:
        async with AsyncCluster(kubeconfig(certificates, port)) as cluster:
            yield cluster
    finally:
        await runner.cleanup()


def kubeconfig(certificates: Path, port: int) -> Path:
    """A client's configuration for a server on this machine."""
    user = {"client-certificate": "client.crt", "client-key": "client.key"}
    path = certificates / "kubeconfig"
    document = {
        "clusters": [
            {
                "name": "it",
                "cluster": {
                    "server": f"https://127.0.0.1:{port}",
                    "certificate-authority": "ca.crt",
                },
            }
        ],
        "users": [{"name": "client", "user": user}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "client"}}],
        "current-context": "it",
    }
    path.write_text(json.dumps(document))
    return path


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asks again at once."""
    monkeypatch.setattr(async_kube, "_AGAIN_SECONDS", 0.0)


@pytest.mark.parametrize("busy", [0, 429, 503, 504])
async def test_a_busy_server_is_asked_again(certificates: Path, busy: int) -> None:
    async with answering(certificates, busy, busy, 200, 200) as cluster:
        assert await cluster.request("GET", PATH) == {"left": 1}


async def test_a_refusal_is_reported_at_once(certificates: Path) -> None:
    async with answering(certificates, 403, 200) as cluster:
        with pytest.raises(aiohttp.ClientResponseError, match="403"):
            await cluster.request("GET", PATH)


@pytest.mark.parametrize("busy", [0, 503])
async def test_patience_ends(
    certificates: Path, busy: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(async_kube, "_RETRY_SECONDS", -1.0)
    async with answering(certificates, busy) as cluster:
        with pytest.raises(aiohttp.ClientError):
            await cluster.request("GET", PATH)
