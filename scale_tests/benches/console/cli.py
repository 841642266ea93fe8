"""`python -m scale_tests console`: the live page with a recorded cluster of 1,024 nodes.

The cluster is made from a seed and changes all the time: kills, switches of the overlay,
partitions. The operator's own code turns it into the stream and serves it to Chromium, which draws
in software. `QUICK=1` has 128 nodes and a tenth of the changes.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from playwright.async_api import Browser
from playwright.async_api import Error as BrowserError

from scale_tests.benches.console import report, tab, viewers
from scale_tests.benches.console.recording import LINKS, NODES
from scale_tests.measure import versions
from scale_tests.measure.bench import Bench, Cell, Session
from scale_tests.measure.browser import chromium


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The extent of a run."""

    nodes: int = NODES
    links: int = LINKS
    repetitions: int = 3
    updates: int = 20
    """Changes of each view in a repetition."""

    hour: int = 600
    """Changes in an hour of a cluster of 1,024 nodes."""

    viewers: tuple[int, ...] = (0, 1, 10)
    changes: int = 60
    """Changes that viewers receive."""


QUICK = Plan(nodes=128, links=375, repetitions=1, updates=5, hour=60, viewers=(0, 10), changes=10)


class Measurement:
    """A run, as cells."""

    def __init__(self, plan: Plan, session: Session) -> None:
        """Begins without a cell."""
        self.plan, self.session = plan, session
        self.size = (plan.nodes, plan.links)
        self.cells: list[Cell] = []

    async def run(self) -> str:
        """Measures everything; returns the version of the browser."""
        async with chromium() as browser:
            for repetition in range(self.plan.repetitions):
                for view in report.VIEWS:
                    await self._view(browser, view, repetition)
            await self._memory(browser)
            version = browser.version
        for count in self.plan.viewers:
            cost = await viewers.cost(*self.size, count, self.plan.changes)
            for metric, value in cost.items():
                self._add("", count, metric, value)
        for metric, value in (await viewers.at_rest(*self.size, self.plan.changes // 2)).items():
            self._add("", 1, metric, value)
        return version

    async def _view(self, browser: Browser, view: str, repetition: int) -> None:
        async with tab.opened(browser, view, *self.size) as opened:
            if view == report.OVERLAY:
                self._add(view, 1, "drawn_seconds", await opened.drawn_seconds(), repetition)
            for _ in range(self.plan.updates):
                self._add(view, 1, "update_ms", await opened.update_ms(), repetition)
            whole = await opened.main_thread_ms(self.plan.updates)
            self._add(view, 1, "main_thread_ms", whole, repetition)

    async def _memory(self, browser: Browser) -> None:
        async with tab.opened(browser, report.OVERLAY, *self.size) as opened:
            await opened.drawn_seconds()
            for sample in range(report.SAMPLES):
                heap = await opened.heap_mib(self.plan.hour // report.SAMPLES)
                self._add(report.OVERLAY, 1, "heap_mib", heap, sample)

    def _add(self, view: str, viewers: int, metric: str, value: float, repetition: int = 0) -> None:
        where: dict[str, Any] = {"view": view, "nodes": self.plan.nodes, "viewers": viewers}
        what = {"metric": metric, "value": round(value, 3), "repetition": repetition}
        self.cells.append(where | what)
        self.session.say(f"{view or 'operator'}, {viewers} viewers: {metric} {value:.3g}")


def _run(session: Session) -> int:
    plan = QUICK if session.quick else Plan()
    measurement = Measurement(plan, session)
    chromium_version = asyncio.run(measurement.run())
    return session.conclude(
        measurement.cells,
        versions={"chromium": chromium_version, **versions.of_repository()},
        config={"nodes": plan.nodes, "links": plan.links, "changes": plan.hour},
    )


BENCH = Bench(
    name="console",
    document="bench-console",
    about=__doc__,
    measure=_run,
    report=report,
    text=report.text,
    quick="128 nodes and a tenth of the changes",
    expected=(BrowserError,),
)
