"""The cells of a run, and how they are asked for."""

from dataclasses import asdict, replace
from pathlib import Path

from scale_tests.benches.ring import plan, report
from scale_tests.benches.ring.plan import Cell
from scale_tests.measure.spread import KB, MB

HISTORY = Path("history.jsonl")
FULL, QUICK = plan.plan(quick=False), plan.plan(quick=True)


def test_a_full_run_takes_six_hours_at_most_and_a_quick_one_ten_minutes() -> None:
    assert plan.seconds(FULL) < 6 * 3600
    assert plan.seconds(QUICK) < 600


def test_no_cell_is_measured_twice() -> None:
    assert len(set(FULL)) == len(FULL)
    assert len(set(QUICK)) == len(QUICK)


def test_every_target_has_five_repetitions_of_24_seconds_or_more_of_each_system() -> None:
    for service, rtt, payload in report.TARGETS:
        window = "default" if rtt == 1 else plan.WINDOW
        for values in ("cold", "warm") if service == "kvs" else (None,):
            found = [
                (c.system, c.repetition, c.seconds)
                for c in FULL
                if (c.service, c.rtt_ms, c.payload, c.actors) == (service, rtt, payload, 128)
                and (c.window, c.values, c.reads, c.storage_ms)
                == (window, values, *(("full", 1) if values else (None, None)))
            ]
            long = (service, rtt, payload) == ("echo", 20, 8 * MB)
            wanted = {(s, r, 120 if long else 24) for s in plan.SYSTEMS for r in range(5)}
            assert (len(found), set(found)) == (15, wanted)


def test_a_cell_that_is_done_is_known_again() -> None:
    cell = FULL[-1]
    done = {**asdict(cell), "ops_per_s": 1.0}
    assert cell.is_of(done)
    assert not replace(cell, seconds=cell.seconds + 1).is_of(done)
    assert not cell.is_of({"service": cell.service})


def test_pairs_that_are_no_neighbours_are_of_eight_nodes() -> None:
    cell = Cell(
        service="ack", rtt_ms=1, payload=8 * MB, actors=128, seconds=24, overlay="hyparview"
    )
    job = cell.job(HISTORY)
    assert (job.system.nodes, job.system.overlay) == (8, "hyparview")
    assert job.settings["channel"] == "lanes_16"
    assert replace(cell, system="raw").job(HISTORY).system.nodes == 2
    assert replace(cell, channels=4).job(HISTORY).settings["channels"] == 4


def test_a_ring_is_of_three_nodes_with_the_same_code_over_each_system() -> None:
    cell = Cell(
        service="kvs",
        rtt_ms=20,
        payload=512 * KB,
        actors=128,
        seconds=24,
        window=plan.WINDOW,
        values="warm",
        reads="digest",
        storage_ms=10,
    )
    jobs = {system: replace(cell, system=system).job(HISTORY) for system in plan.SYSTEMS}
    assert [job.system.nodes for job in jobs.values()] == [3, 3, 3]
    assert jobs["raw"].system.module == "bench_ring_raw"
    assert jobs["ours"].settings == jobs["disterl"].settings
    assert jobs["ours"].settings["values"] == "warm"
    assert "values" not in replace(cell, service="echo", values=None).job(HISTORY).settings


def test_a_history_is_asked_for_with_its_file() -> None:
    (cell,) = [cell for cell in QUICK if cell.service == "history"]
    settings = cell.job(HISTORY).settings
    assert (settings["experiment"], settings["service"]) == ("history", "kvs")
    assert settings["file"] == "'history.jsonl'"
