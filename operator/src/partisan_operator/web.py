"""The operator's own HTTP port: `/healthz` for the kubelet, `/metrics` for Prometheus."""

from __future__ import annotations

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from partisan_operator import metrics
from partisan_operator.supervisor import Supervisor


async def serve(supervisor: Supervisor, port: int) -> web.AppRunner:
    """Serve until the returned runner is cleaned up."""

    async def healthz(_: web.Request) -> web.Response:
        stuck = supervisor.stuck()
        if stuck:
            return web.Response(status=503, text=f"stuck: {', '.join(stuck)}\n")
        return web.Response(text="ok\n")

    async def exposition(_: web.Request) -> web.Response:
        body = generate_latest(metrics.registry)
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_LATEST})

    application = web.Application()
    application.add_routes([web.get("/healthz", healthz), web.get("/metrics", exposition)])
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, port=port).start()
    return runner
