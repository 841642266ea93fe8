"""The cost of viewers for the operator, and the bytes of the stream; no browser takes part."""

import asyncio
import gc
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from partisan_operator.api import metrics
from partisan_operator.console.hub import Hub

from scale_tests.benches.console.recording import PERIOD, Recording
from scale_tests.benches.console.served import TOKEN, Served, served
from scale_tests.host import procfs
from scale_tests.host.units import MIB

PATH = "/v1/stream?namespace=default&cluster=ads"

PACE = 0.2
"""Seconds from one reconcile to the next, of `PERIOD` in a real cluster."""

WARM_UP = 12
"""Changes before a measurement: caches fill, and the run of the workload is over."""


class TimedHub(Hub):
    """A hub that adds up its own processor time."""

    seconds = 0.0

    def observed(self, *args: Any, **kwargs: Any) -> None:
        """As of `Hub`."""
        began = time.process_time()
        super().observed(*args, **kwargs)
        self.seconds += time.process_time() - began


async def cost(nodes: int, links: int, viewers: int, steps: int) -> dict[str, float]:
    """The cost of so many viewers of a cluster with faults all the time, by metric.

    The simulation of the cluster is not in it.
    """
    hub = TimedHub()
    async with served(hub) as site:
        recording = Recording(hub, nodes=nodes, links=links)
        changes = recording.steps()
        await _pass(lambda: next(changes), WARM_UP)
        before = _resident()
        async with _readers(site, viewers):
            hub.seconds, began = 0.0, time.process_time()
            simulated = await _pass(lambda: next(changes), steps)
            used = time.process_time() - began - simulated + hub.seconds
            after = _resident()
    return {
        "operator_cpu_percent": 100 * used / (steps * PERIOD),
        "operator_memory_mib": (after - before) / MIB,
    }


async def stream_bytes_per_second(nodes: int, links: int, steps: int) -> float:
    """The stream to one viewer at rest, of a cluster whose run is over."""
    hub = Hub()
    async with served(hub) as site:
        recording = Recording(hub, nodes=nodes, links=links)
        async with _readers(site, 1):
            await _pass(recording.step, WARM_UP)
            before = _value(metrics.console_bytes)
            await _pass(recording.step, steps)
            return (_value(metrics.console_bytes) - before) / (steps * PERIOD)


async def _pass(change: Callable[[], object], steps: int) -> float:
    """Makes changes at a steady pace; returns the processor time of making them."""
    used = 0.0
    for _ in range(steps):
        began = time.process_time()
        change()
        used += time.process_time() - began
        await asyncio.sleep(PACE)
    return used


@asynccontextmanager
async def _readers(site: Served, count: int) -> AsyncIterator[None]:
    """Viewers in processes of their own."""
    url, header = f"http://127.0.0.1:{site.port}{PATH}", f"Authorization: Bearer {TOKEN}"
    command = ["curl", "--silent", "--no-buffer", "--output", "/dev/null", "-H", header, url]
    readers = [await asyncio.create_subprocess_exec(*command) for _ in range(count)]
    try:
        while _value(metrics.console_viewers) < count:
            await asyncio.sleep(0.05)
        yield
    finally:
        for reader in readers:
            reader.terminate()
            await reader.wait()


def _value(metric: Any) -> float:
    return float(next(iter(metric.collect())).samples[0].value)


def _resident() -> int:
    gc.collect()
    return procfs.memory(os.getpid())["Rss"]
