"""`python -m scale_tests console`: the live page with a recorded cluster of 1,024 nodes.

The cluster is made from a seed and changes all the time: kills, switches of the overlay,
partitions. The operator's own code turns it into the stream and serves it to Chromium, which draws
in software. `QUICK=1` has 128 nodes and a tenth of the changes.
"""

import asyncio
from dataclasses import dataclass, field
from functools import partial

from playwright.async_api import Error as BrowserError

from scale_tests.benches.console import report, tab, viewers
from scale_tests.measure import versions
from scale_tests.measure.bench import Bench, Cell, Session
from scale_tests.measure.browser import chromium


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The extent of a run."""

    nodes: int = 1024
    links: int = 3000
    repetitions: int = 3
    updates: int = 20
    """Changes of each view in a repetition."""

    hour: int = 600
    """Changes in an hour of a cluster of 1,024 nodes."""

    viewers: tuple[int, ...] = (0, 1, 10)
    changes: int = 60
    """Changes that viewers receive."""


QUICK = Plan(nodes=128, links=375, repetitions=1, updates=5, hour=60, viewers=(0, 10), changes=10)


@dataclass
class Measurement:
    """A run, as cells."""

    plan: Plan
    session: Session
    cells: list[Cell] = field(default_factory=list)

    async def run(self) -> str:
        """Measures everything; returns the version of the browser."""
        plan, size = self.plan, (self.plan.nodes, self.plan.links)
        async with chromium() as browser:
            for repetition in range(plan.repetitions):
                for view in report.VIEWS:
                    async with tab.opened(browser, view, *size) as opened:
                        await self._view(opened, view, repetition)
            async with tab.opened(browser, report.OVERLAY, *size) as opened:
                await opened.drawn_seconds()
                for sample in range(report.SAMPLES):
                    heap = await opened.heap_mib(plan.hour // report.SAMPLES)
                    self._add("heap_mib", heap, view=report.OVERLAY, repetition=sample)
            version = browser.version
        for count in plan.viewers:
            for metric, value in (await viewers.cost(*size, count, plan.changes)).items():
                self._add(metric, value, viewers=count)
        rate = await viewers.stream_bytes_per_second(*size, plan.changes // 2)
        self._add("stream_bytes_per_second", rate)
        return version

    async def _view(self, opened: tab.Tab, view: str, repetition: int) -> None:
        add = partial(self._add, view=view, repetition=repetition)
        if view == report.OVERLAY:
            add("drawn_seconds", await opened.drawn_seconds())
        for _ in range(self.plan.updates):
            add("update_ms", await opened.update_ms())
        add("main_thread_ms", await opened.main_thread_ms(self.plan.updates))

    def _add(
        self, metric: str, value: float, *, view: str = "", viewers: int = 1, repetition: int = 0
    ) -> None:
        where = {"view": view, "nodes": self.plan.nodes, "viewers": viewers}
        what = {"metric": metric, "value": round(value, 3), "repetition": repetition}
        self.cells.append({**where, **what})
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
