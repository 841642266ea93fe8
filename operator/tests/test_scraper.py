"""The scraper with nodes that answer, hang, send false or endless reports, or close connections."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from aiohttp import web

from loop_rig import until
from partisan_operator.act.mint import issue, new_authority
from partisan_operator.models import clock
from partisan_operator.observe.observation import Endpoint, Trust
from partisan_operator.observe.scraper import MAX_ANSWER, RefusedError, ScrapeError, Scraper
from world import START

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Serve = Callable[[Handler], Awaitable[Scraper]]

REPORT = {"node": "ads-0", "incarnation": 7, "overlay": {"joined": True, "active": ["ads-1"]}}
HERE = Endpoint("ads-0", "uid-0", "127.0.0.1", True)


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    """Yield a function that serves a node and returns a scraper of its port."""
    cleanup: list[Callable[[], Awaitable[None]]] = []

    async def start(handler: Handler) -> Scraper:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", handler)
        runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        # Short for nodes that never answer; the others answer even on a slow host.
        timeout = 0.5 if handler in (hang, drip) else 60
        scraper = Scraper(timeout=timeout, concurrency=4, clock=lambda: START, port=port)
        cleanup.extend([scraper.close, runner.cleanup])
        return scraper

    yield start
    for close in cleanup:
        await close()


async def ok(_: web.Request) -> web.Response:
    return web.json_response(REPORT)


async def test_a_report(serve: Serve) -> None:
    scraper = await serve(ok)
    reports, failures = await scraper.scrape([HERE])
    assert failures == {}
    assert reports["ads-0"].report.overlay.active == ("ads-1",)
    assert (reports["ads-0"].uid, reports["ads-0"].at) == ("uid-0", START)


async def test_a_node_that_hangs_affects_no_other(serve: Serve) -> None:
    async def first_hangs(request: web.Request) -> web.Response:
        if request.host.startswith("127.0.0.2"):
            await asyncio.Event().wait()
        return await ok(request)

    # The server listens on one address only: nothing answers for the hanging node.
    scraper = await serve(first_hangs)
    absent = Endpoint("ads-9", "uid-9", "127.0.0.2", True)
    reports, failures = await scraper.scrape([absent, HERE])
    assert set(reports) == {"ads-0"}
    assert set(failures) == {"ads-9"}


async def test_an_impossible_traffic_figure_does_not_invalidate_a_report(
    serve: Serve,
) -> None:
    channel = {"queue_bytes": -5, "sent_bytes": 2**70, "sent_messages": 3}
    scraper = await serve(answers(REPORT | {"channels": {"default": channel}}))
    reports, _ = await scraper.scrape([HERE])
    found = reports["ads-0"].report.channels["default"]
    assert (found.queue_bytes, found.sent_bytes, found.sent_messages) == (0, 2**63 - 1, 3)


async def test_traffic_is_asked_for_where_it_is_wanted(serve: Serve) -> None:
    asked = []
    peers = {"ads-1": {"gossip": {"sent_messages": 2, "sent_bytes": 2**70, "dropped": 0}}}

    async def node(request: web.Request) -> web.Response:
        asked.append(request.path_qs)
        traffic = {"traffic": {"peers": peers, "others": {"peers": 0}}}
        return web.json_response(REPORT | (traffic if request.query_string else {}))

    scraper = await serve(node)
    reports, _ = await scraper.scrape([HERE])
    assert reports["ads-0"].report.traffic is None
    reports, _ = await scraper.scrape([HERE], traffic=True)
    assert asked == ["/status", "/status?traffic"]
    assert (traffic := reports["ads-0"].report.traffic) is not None
    assert traffic.peers["ads-1"]["gossip"].sent_bytes == 2**63 - 1


async def hang(_: web.Request) -> web.Response:
    await asyncio.Event().wait()
    raise AssertionError


async def drip(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    await response.write(b'{"node": ')
    await asyncio.Event().wait()
    raise AssertionError


async def rant(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    for _ in range(2 * MAX_ANSWER // 65536):
        await response.write(b" " * 65536)
    return response


def answers(body: object, status: int = 200) -> Handler:
    async def handler(_: web.Request) -> web.Response:
        return web.json_response(body, status=status)

    return handler


@pytest.mark.parametrize(
    "handler",
    [
        hang,
        drip,
        rant,
        answers(REPORT, status=500),
        answers([1, 2, 3]),
        answers("text"),
        answers({"node": "ads-0"}),
        answers(REPORT | {"node": "ads-1"}),
        answers(REPORT | {"incarnation": -1}),
        answers(REPORT | {"incarnation": 2**63}),
        answers(REPORT | {"overlay": {"active": ["x" * 1000]}}),
        answers(REPORT | {"workload": {"phase": "dancing"}}),
        answers(REPORT | {"workload": {"started_at": 1e300}}),
    ],
)
async def test_an_invalid_report_counts_as_absent_with_a_reason(
    serve: Serve, handler: Handler
) -> None:
    scraper = await serve(handler)
    reports, failures = await scraper.scrape([HERE])
    assert reports == {}
    assert failures["ads-0"]


async def test_a_few_nodes_are_scraped_at_a_time(serve: Serve) -> None:
    present, most = 0, 0

    async def count(request: web.Request) -> web.Response:
        nonlocal present, most
        present += 1
        most = max(most, present)
        await asyncio.sleep(0)
        present -= 1
        return await ok(request)

    scraper = await serve(count)
    _, failures = await scraper.scrape([HERE] * 40)
    assert failures == {}
    assert most <= 4


async def test_a_cluster_whose_nodes_hang_does_not_delay_another(serve: Serve) -> None:
    hanging, released = 0, asyncio.Event()

    async def some_hang(request: web.Request) -> web.Response:
        nonlocal hanging
        if "traffic" in request.query:
            hanging += 1
            await released.wait()
        return await ok(request)

    scraper = await serve(some_hang)
    first = asyncio.create_task(scraper.scrape([HERE] * 40, traffic=True))
    await until(lambda: hanging == 2)
    async with asyncio.timeout(30):
        reports, _ = await scraper.scrape([HERE])
    assert set(reports) == {"ads-0"}
    assert hanging == 2
    released.set()
    await first


async def test_a_run_is_started_with_the_token(serve: Serve) -> None:
    requests: list[tuple[str, str, str, str]] = []

    async def start(request: web.Request) -> web.Response:
        token = request.headers["Authorization"]
        requests.append((request.method, request.path, token, await request.text()))
        return web.Response(status=202)

    scraper = await serve(start)
    await scraper.start_run(HERE, "secret", "r1")
    assert requests == [("POST", "/workload/start", "Bearer secret", "r1")]


@pytest.mark.parametrize("handler", [answers({}, status=401), hang])
async def test_a_start_that_is_not_accepted_is_an_error(serve: Serve, handler: Handler) -> None:
    scraper = await serve(handler)
    with pytest.raises(ScrapeError, match="ads-0") as refused:
        await scraper.start_run(HERE, "secret", "r1")
    assert "secret" not in str(refused.value)


async def test_a_configuration_is_sent_with_the_token(serve: Serve) -> None:
    requests: list[tuple[str, str, str, str]] = []

    async def take(request: web.Request) -> web.Response:
        token = request.headers["Authorization"]
        requests.append((request.method, request.path, token, await request.text()))
        return web.Response(text="in force")

    scraper = await serve(take)
    await scraper.configure(HERE, "secret", "#{}.")
    assert requests == [("POST", "/configuration", "Bearer secret", "#{}.")]


async def test_a_refusal_contains_the_nodes_answer(serve: Serve) -> None:
    async def refuse(_: web.Request) -> web.Response:
        return web.Response(status=400, text="overlay must be x\n")

    scraper = await serve(refuse)
    with pytest.raises(RefusedError, match=r"ads-0 to /configuration: 400 overlay must be x$"):
        await scraper.configure(HERE, "secret", "#{}.")


@pytest.mark.parametrize("handler", [answers({}, status=503), hang, rant])
async def test_a_missing_answer_is_not_a_refusal(serve: Serve, handler: Handler) -> None:
    scraper = await serve(handler)
    with pytest.raises(ScrapeError) as failed:
        await scraper.configure(HERE, "secret", "#{}.")
    assert not isinstance(failed.value, RefusedError)
    assert "secret" not in str(failed.value)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_no_redirect_is_followed(serve: Serve, status: int) -> None:
    requests: list[str] = []

    async def leads_elsewhere(request: web.Request) -> web.Response:
        requests.append(request.path)
        if request.path == "/elsewhere":
            return await ok(request)
        return web.Response(status=status, headers={"location": "/elsewhere"})

    scraper = await serve(leads_elsewhere)
    reports, failures = await scraper.scrape([HERE])
    assert (reports, set(failures)) == ({}, {"ads-0"})
    for order in (scraper.configure(HERE, "t", "c"), scraper.start_run(HERE, "t", "r")):
        with pytest.raises(ScrapeError, match=str(status)):
            await order
    assert requests == ["/status", "/configuration", "/workload/start"]


@pytest.fixture
async def over_tls(tmp_path: Path) -> AsyncIterator[tuple[Scraper, str, list[str]]]:
    """Yield a scraper of a node that serves TLS, its authority, and the orders that it received."""
    now, day = clock.utc_now(), timedelta(days=1)
    authority = new_authority("ads", now, day)
    own = issue(authority, "ads.default.svc", now, day)
    (tmp_path / "tls.crt").write_text(own.certificate)
    (tmp_path / "tls.key").write_text(own.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "tls.crt", tmp_path / "tls.key")
    orders: list[str] = []

    async def node(request: web.Request) -> web.Response:
        if request.method == "POST":
            orders.append(request.headers["authorization"])
        return await ok(request)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", node)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    port = runner.addresses[0][1]
    scraper = Scraper(timeout=60, concurrency=4, clock=lambda: START, port=port)
    yield scraper, authority.certificate, orders
    await scraper.close()
    await runner.cleanup()


async def test_a_node_with_tls_is_known_by_authority_and_name(
    over_tls: tuple[Scraper, str, list[str]],
) -> None:
    scraper, authority, orders = over_tls
    trusted = replace(HERE, trust=Trust(authority, "ads.default.svc"))
    reports, failures = await scraper.scrape([trusted])
    assert (set(reports), failures) == ({"ads-0"}, {})
    await scraper.configure(trusted, "t", "c")
    assert orders == ["Bearer t"]
    now = clock.utc_now()
    unknown = new_authority("ads", now, timedelta(days=1)).certificate
    for trust in (
        Trust(authority, "other.default.svc"),
        Trust(unknown, "ads.default.svc"),
        Trust("", "ads.default.svc"),
        None,
    ):
        node = replace(HERE, trust=trust)
        assert set((await scraper.scrape([node]))[1]) == {"ads-0"}
        with pytest.raises(ScrapeError):
            await scraper.configure(node, "t", "c")
    assert orders == ["Bearer t"]
