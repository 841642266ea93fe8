"""What the plan tells the nodes, and which figures hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from scale_tests.client_server import report
from scale_tests.client_server.__main__ import plan
from scale_tests.client_server.experiment import Cell, Run


def cell(memory: Sequence[float], *, bounded: bool = True, servers: int = 1) -> Cell:
    run = Run(clients=8, servers=servers, bounded=bounded)
    return {
        **asdict(run),
        "outcome": "finished" if bounded else "collapsed",
        "values": [1440],
        "digests": 1,
        "increments_sum": 1440,
        "samples": [
            {"second": float(second), "memory_mib": mib, "dropped": 0}
            for second, mib in enumerate(memory)
        ],
    }


def held(*cells: Cell) -> list[bool | None]:
    return [bar.ok for bar in report.bars(cells)]


def test_a_bounded_server_finishes_and_stays_flat() -> None:
    assert held(cell([20, 30, 30, 30, 31, 30, 30, 31])) == [True, True]
    assert held(cell([20, 30, 30, 40, 45, 50, 60, 70])) == [True, False]


def test_every_node_must_hold_the_exact_counter() -> None:
    flat = cell([20, 30, 30, 30])
    assert held({**flat, "increments_sum": 1441}) == [False, True]
    assert held({**flat, "digests": 2}) == [False, True]
    assert held({**flat, "outcome": "stalled"}) == [False, True]


def test_without_bounds_the_server_must_be_seen_to_grow() -> None:
    flat = cell([20, 30, 30, 30])
    assert held(flat, cell([20, 60, 100, 130], bounded=False)) == [True, True, True]
    assert held(flat, cell([20, 30, 40, 50], bounded=False)) == [True, True, False]


def test_the_first_nodes_are_the_servers_and_the_seeds() -> None:
    text = Run(clients=8, servers=2, speedup=10).plan().config()
    assert 'servers => [<<"fleet-0">>, <<"fleet-1">>]' in text
    assert "increment_interval => 1000, propagation_interval => 500" in text
    assert "127.0.3.2" in text
    assert "127.0.3.3" not in text


def test_without_bounds_nothing_newer_replaces_what_waits() -> None:
    assert "monotonic => true" in Run(clients=8).plan().channels
    unbounded = Run(clients=8, bounded=False).plan()
    assert "monotonic" not in unbounded.channels
    assert "mailbox_messages" in unbounded.emulator_flags


def test_a_quick_plan_is_as_much_work_for_the_server_each_second() -> None:
    [full, *_] = plan(quick=False)
    [short, *_] = plan(quick=True)
    assert full.clients**2 * full.speedup == short.clients**2 * short.speedup


def test_the_picture(tmp_path: Path) -> None:
    files = report.draw([cell([20, 30]), cell([20, 90], bounded=False)], tmp_path)
    assert "without" in files[0].read_text()
