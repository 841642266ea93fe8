"""Processor time of one coroutine."""

import asyncio

import pytest

from partisan_operator.schedule.stopwatch import Stopwatch


class Clock:
    """A clock that a test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_other_tasks_do_not_count() -> None:
    clock = Clock()

    async def work() -> str:
        clock.now += 1
        await asyncio.sleep(0)
        clock.now += 2
        await other
        return "done"

    async def compute() -> None:
        clock.now += 100

    other = asyncio.create_task(compute())
    stopwatch = Stopwatch(work(), clock)
    assert await stopwatch == "done"
    assert stopwatch.seconds == 3


async def test_an_error_and_a_cancellation_pass_through() -> None:
    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        await Stopwatch(fail())

    ended = asyncio.Event()

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def watched() -> None:
        await Stopwatch(wait())

    task = asyncio.create_task(watched())
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert ended.is_set()
    assert task.cancelled()
