"""The operator's own HTTP port: probes for the kubelet, `/metrics` for Prometheus."""

from collections.abc import Sequence
from typing import Protocol

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from partisan_operator.api import metrics


class Probed(Protocol):
    """A part of the operator that the probes depend on."""

    def faults(self) -> list[str]:
        """Return faults that only a restart resolves."""

    @property
    def obstacle(self) -> str:
        """Why it can neither act nor take over; empty if it can."""

    @property
    def state(self) -> str:
        """Whether it acts or stands by, as text."""


async def serve(probed: Sequence[Probed], port: int) -> web.AppRunner:
    """Serve until the returned runner is cleaned up.

    `/healthz` is 503 when something is stuck. `/readyz` is 200 for an operator that acts, or could
    take over.
    """

    async def healthz(_: web.Request) -> web.Response:
        stuck = [fault for part in probed for fault in part.faults()]
        if stuck:
            return web.Response(status=503, text=f"stuck: {', '.join(stuck)}\n")
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.Response:
        obstacles = [part.obstacle for part in probed if part.obstacle]
        if obstacles:
            return web.Response(status=503, text="\n".join(obstacles) + "\n")
        return web.Response(text="".join(f"{part.state}\n" for part in probed))

    async def exposition(_: web.Request) -> web.Response:
        body = generate_latest(metrics.registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    application = web.Application()
    application.add_routes(
        [
            web.get("/healthz", healthz),
            web.get("/readyz", readyz),
            web.get("/metrics", exposition),
        ]
    )
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, port=port).start()
    return runner
