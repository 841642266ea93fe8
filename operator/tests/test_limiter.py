"""The slots for concurrent reconciles."""

import asyncio

from partisan_operator.schedule.limiter import ReconcileLimiter


async def test_reconciles_wait_for_a_slot_in_order() -> None:
    limiter, order = ReconcileLimiter(at_a_time=2, slot_seconds=60.0), []
    leave, two = asyncio.Event(), asyncio.Barrier(3)

    async def reconcile(name: str) -> None:
        async with limiter.slot():
            order.append(name)
            if not leave.is_set():
                await two.wait()
            await leave.wait()

    async with asyncio.TaskGroup() as group:
        for name in "abcd":
            group.create_task(reconcile(name))
        await two.wait()
        assert order == ["a", "b"]
        leave.set()
    assert order == ["a", "b", "c", "d"]


async def test_a_reconcile_that_hangs_releases_its_slot_once() -> None:
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


async def test_a_reconcile_that_fails_releases_its_slot() -> None:
    limiter = ReconcileLimiter(at_a_time=1, slot_seconds=60.0)
    try:
        async with limiter.slot():
            raise ValueError
    except ValueError:
        pass
    assert not limiter._free.locked()
