"""One browser and one event loop for all tests of the page; a served page for each of them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from partisan_operator.console.hub import Hub
from playwright.async_api import Browser

from scale_tests.benches.console.recording import Recording
from scale_tests.benches.console.served import Served, served
from scale_tests.benches.console.tests.visit import Visit
from scale_tests.measure.browser import chromium, tab


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    """Chromium without a window."""
    async with chromium() as started:
        yield started


@pytest_asyncio.fixture(loop_scope="session")
async def site() -> AsyncIterator[Served]:
    """The page of an operator without clusters."""
    async with served(Hub()) as site:
        yield site


@pytest.fixture
def recording(request: pytest.FixtureRequest, site: Served) -> Recording:
    """A cluster of 24 nodes, or as many as the test is parametrised with."""
    nodes = getattr(request, "param", 24)
    return Recording(site.hub, nodes=nodes, links=3 * nodes - nodes // 14)


@pytest_asyncio.fixture(loop_scope="session")
async def visit(
    request: pytest.FixtureRequest, browser: Browser, site: Served, recording: Recording
) -> AsyncIterator[Visit]:
    """A tab that has the cluster open; nothing may go wrong in it."""
    options: dict[str, Any] = getattr(request, "param", {})
    async with tab(browser, **options) as watched:
        await watched.open(site.local.url() + "#default/ads")
        visit = Visit(watched, site, recording)
        await visit.connected()
        yield visit
        assert await watched.faults() == []
