"""The cost of the page in a browser: drawing, a change, memory over many changes."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice

from partisan_operator.console.hub import Hub
from playwright.async_api import Browser, CDPSession, Page

from scale_tests.benches.console.recording import Recording
from scale_tests.benches.console.served import served
from scale_tests.host.units import MIB
from scale_tests.measure import browser as browsers

_DRAWN = "performance.getEntriesByName('overlay-drawn').length > 0"
_DRAWN_AT = "performance.getEntriesByName('overlay-drawn')[0].startTime"
_COUNT = "performance.getEntriesByName('update', 'measure').length"
_LAST = "performance.getEntriesByName('update', 'measure').at(-1).duration"
_FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


@dataclass(frozen=True)
class Tab:
    """A tab that has a view of the recorded cluster open."""

    page: Page
    devtools: CDPSession
    changes: Iterator[None]

    async def drawn_seconds(self) -> float:
        """From the navigation to the picture of all nodes."""
        await browsers.until(self.page, _DRAWN)
        return float(await self.page.evaluate(_DRAWN_AT)) / 1000

    async def update_ms(self) -> float:
        """Main thread that the next change takes until the page has applied it."""
        await self.page.evaluate("performance.clearMeasures('update')")
        next(self.changes)
        await browsers.until(self.page, f"{_COUNT} > 0")
        return float(await self.page.evaluate(_LAST))

    async def main_thread_ms(self, changes: int) -> float:
        """All work of the main thread for each change, drawing and collection included."""
        before = await self._metric("TaskDuration")
        for _ in range(changes):
            await self.update_ms()
            await self.page.evaluate(_FRAMES)
        return 1000 * (await self._metric("TaskDuration") - before) / changes

    async def heap_mib(self, changes: int) -> float:
        """The heap after so many changes, without what can be collected."""
        for _ in islice(self.changes, changes):
            # The page takes what has come once a frame.
            await asyncio.sleep(0)
            await self.page.evaluate(_FRAMES)
        await self.devtools.send("HeapProfiler.collectGarbage")
        usage = await self.devtools.send("Runtime.getHeapUsage")
        return float(usage["usedSize"]) / MIB

    async def _metric(self, name: str) -> float:
        found = await self.devtools.send("Performance.getMetrics")
        return next(float(each["value"]) for each in found["metrics"] if each["name"] == name)


@asynccontextmanager
async def opened(browser: Browser, view: str, nodes: int, links: int) -> AsyncIterator[Tab]:
    """A new tab with a view of a new recording."""
    hub = Hub()
    async with served(hub) as site, browsers.tab(browser) as watched:
        recording = Recording(hub, nodes=nodes, links=links)
        devtools = await watched.page.context.new_cdp_session(watched.page)
        await devtools.send("Performance.enable")
        await watched.open(f"{site.local.url()}#default/ads/{view}")
        await watched.page.wait_for_selector(f'[data-view="{view}"]')
        yield Tab(watched.page, devtools, recording.steps())
