"""Who may look at its cluster, and when."""

from __future__ import annotations

import asyncio

from partisan_operator.schedule.limiter import ReconcileLimiter


async def test_who_comes_when_all_turns_are_taken_waits_in_order() -> None:
    limiter, order = ReconcileLimiter(at_a_time=2, slot_seconds=60.0), []
    leave, two = asyncio.Event(), asyncio.Barrier(3)

    async def look(name: str) -> None:
        async with limiter.slot():
            order.append(name)
            if not leave.is_set():
                await two.wait()
            await leave.wait()

    async with asyncio.TaskGroup() as group:
        for name in "abcd":
            group.create_task(look(name))
        await two.wait()
        assert order == ["a", "b"]
        leave.set()
    assert order == ["a", "b", "c", "d"]


async def test_a_look_that_hangs_gives_its_turn_away_once() -> None:
    limiter = ReconcileLimiter(at_a_time=1, slot_seconds=0.01)
    hang, second = asyncio.Event(), asyncio.Event()

    async def hanging() -> None:
        async with limiter.slot():
            await hang.wait()

    async def other() -> None:
        async with limiter.slot():
            second.set()
            await hang.wait()

    async with asyncio.TaskGroup() as group:
        group.create_task(hanging())
        group.create_task(other())
        await second.wait()
        hang.set()
    assert not limiter._free.locked()
    async with limiter.slot():
        assert limiter._free.locked()


async def test_a_look_that_fails_gives_its_turn_back() -> None:
    limiter = ReconcileLimiter(at_a_time=1, slot_seconds=60.0)
    try:
        async with limiter.slot():
            raise ValueError
    except ValueError:
        pass
    assert not limiter._free.locked()
