"""Who may look at its cluster, and when."""

from __future__ import annotations

import asyncio

from partisan_operator.turns import Turns


async def test_who_comes_when_all_turns_are_taken_waits_in_order() -> None:
    turns, order = Turns(at_a_time=2, patience=60.0), []
    leave, two = asyncio.Event(), asyncio.Barrier(3)

    async def look(name: str) -> None:
        async with turns.turn():
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
    turns = Turns(at_a_time=1, patience=0.01)
    hang, second = asyncio.Event(), asyncio.Event()

    async def hanging() -> None:
        async with turns.turn():
            await hang.wait()

    async def other() -> None:
        async with turns.turn():
            second.set()
            await hang.wait()

    async with asyncio.TaskGroup() as group:
        group.create_task(hanging())
        group.create_task(other())
        await second.wait()
        hang.set()
    assert not turns._free.locked()
    async with turns.turn():
        assert turns._free.locked()


async def test_a_look_that_fails_gives_its_turn_back() -> None:
    turns = Turns(at_a_time=1, patience=60.0)
    try:
        async with turns.turn():
            raise ValueError
    except ValueError:
        pass
    assert not turns._free.locked()
