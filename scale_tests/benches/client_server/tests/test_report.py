"""The configuration of the nodes, the checks of their figures, and the page."""

import json
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from scale_tests.benches.client_server import report
from scale_tests.benches.client_server.cli import BENCH, plan, save
from scale_tests.benches.client_server.experiment import NO_BOUNDS, Run
from scale_tests.host.commands import ExpectedError
from scale_tests.measure import document
from scale_tests.measure.bench import Cell, Session


def cell(memory: Sequence[float], *, bounded: bool = True, servers: int = 1) -> Cell:
    """A run of 8 clients; without bounds its server stops answering at the second sample."""
    run = Run(clients=8, servers=servers, bounded=bounded, memory_limit=100)
    ended = {
        "values": [1440],
        "digests": 1,
        "increments_sum": 1440,
        "bytes_payload": 1 << 30,
        "dropped": 3,
    }
    return {
        **asdict(run),
        "otp": "27",
        **(ended if bounded else {}),
        "seconds_joining": 2.5,
        "outcome": "finished" if bounded else "collapsed",
        "samples": [
            {
                "second": float(second),
                "memory_mib": mib,
                "value": 100 * second,
                "dropped": 0,
                "servers_answering": servers if bounded or not second else 0,
            }
            for second, mib in enumerate(memory)
        ],
    }


FLAT = cell([20, 30, 30, 30, 31, 30, 30, 31])
COLLAPSED = cell([20, 60, 100, 130], bounded=False)


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands for build/results."""
    monkeypatch.setattr(document, "RESULTS", tmp_path / "results")


def written(cells: Sequence[Cell], directory: Path) -> str:
    """The page of such runs, out of the three that were planned."""
    runs = [report.run_of(c) for c in (FLAT, cell([1], servers=4), COLLAPSED)]
    session = Session(bench=BENCH, options=Namespace(out=directory), quick=True)
    save(session, cells, runs)
    return (directory / "README.md").read_text()


def held(*cells: Cell) -> list[bool | None]:
    return [check.ok for check in report.checks(cells)]


def test_a_bounded_server_finishes_and_stays_flat() -> None:
    assert held(FLAT) == [True, True]
    assert held(cell([20, 30, 30, 40, 45, 50, 60, 70])) == [True, False]


def test_every_node_must_hold_the_exact_counter() -> None:
    assert held({**FLAT, "increments_sum": 1441}) == [False, True]
    assert held({**FLAT, "digests": 2}) == [False, True]
    assert held({**FLAT, "outcome": "stalled"}) == [False, True]


def test_without_bounds_the_server_must_be_seen_to_grow() -> None:
    assert held(FLAT, COLLAPSED) == [True, True, True]
    assert held(FLAT, cell([20, 30, 40, 50], bounded=False)) == [True, True, False]


def test_the_first_nodes_are_the_servers_and_the_seeds() -> None:
    text = Run(clients=8, servers=2, speedup=10).plan().config()
    assert 'servers => [<<"fleet-0">>, <<"fleet-1">>]' in text
    assert "increment_interval => 1000, propagation_interval => 500" in text
    assert "127.0.3.2" in text
    assert "127.0.3.3" not in text


def test_without_bounds_no_state_replaces_a_waiting_one() -> None:
    assert "monotonic => true" in Run(clients=8).plan().channels
    unbounded = Run(clients=8, bounded=False).plan()
    assert "monotonic" not in unbounded.channels
    assert "mailbox_messages" in unbounded.emulator_flags


def test_a_quick_plan_is_as_much_work_for_the_server_each_second() -> None:
    [full, *_] = plan(quick=False)
    [short, *_] = plan(quick=True)
    assert full.clients**2 * full.speedup == short.clients**2 * short.speedup


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("CLIENTS", "many", "a whole number above 0"),
        ("CLIENTS", "", "a whole number above 0"),
        ("CLIENTS", "-8", "a whole number above 0"),
        ("SPEEDUP", "0", "a number above 0"),
        ("MEMORY_LIMIT", "inf", "a number above 0"),
    ],
)
def test_a_variable_that_is_no_number_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, wanted: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ExpectedError, match=f"{name} is '{value}': set it to {wanted}"):
        plan(quick=True)


def test_an_ending_reports_the_fate_of_the_server() -> None:
    assert report.ending(FLAT) == "finished after 7 s: every node holds 1,440"
    assert report.ending(COLLAPSED) == (
        "collapsed: ended after 3 s, when a server held 130 MiB of the 100 it was given; "
        "the last question that it answered was at 0 s"
    )
    assert "the kernel killed a server" in report.ending({**COLLAPSED, "outcome": "killed"})
    assert report.ending({**FLAT, "outcome": "stalled"}).startswith("stalled: ended after 7 s")
    assert report.ending({**FLAT, "digests": 2}).endswith("counters that are not exact")
    (servers,) = report.tables([COLLAPSED])["Servers"].rows
    assert servers[-2] == "25"


def test_the_page_names_the_runs_and_the_removed_bounds(tmp_path: Path) -> None:
    page = written([FLAT, cell([20, 22], servers=4), COLLAPSED], tmp_path)
    assert "processes of this one machine, not pods" in page
    assert "Time compression 1" in page
    assert "8 clients, 1 server, no bounds: collapsed: ended after 3 s" in page
    assert f"`{NO_BOUNDS}`" in page
    assert "| 8 clients, 1 server, bounds | 1 | 1,440 | 180 | 2 | 7 |" in page
    assert "| 8 clients, 1 server, no bounds | 1 | - | 180 | 2 | 3 | - |" in page
    assert "`QUICK=1`: fewer clients" in page
    assert "Not run" not in page


def test_every_picture_is_in_the_html_and_next_to_the_markdown(tmp_path: Path) -> None:
    page = written([FLAT, COLLAPSED], tmp_path)
    report_html = (tmp_path / "report.html").read_text()
    assert report_html.count("<figure><svg") == page.count(".svg)") == 2
    assert "limit: 100 MiB" in (tmp_path / "client-server.svg").read_text()


def test_ended_runs_are_written_before_the_last_one(tmp_path: Path) -> None:
    page = written([FLAT], tmp_path)
    assert "Not run, or incomplete: 8 clients, 4 servers, bounds; 8 clients, 1 server, no" in page
    assert len(json.loads((tmp_path / "client_server.json").read_text())["cells"]) == 1


def test_a_page_is_written_again_from_its_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[Any]
) -> None:
    page = written([FLAT, COLLAPSED], tmp_path)
    (tmp_path / "README.md").unlink()
    assert BENCH.main(["report", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "README.md").read_text() == page
    assert "Servers" in capsys.readouterr().out


def test_a_directory_without_a_run_has_no_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[Any]
) -> None:
    assert BENCH.main(["report", "--out", str(tmp_path)]) == 1
    assert "client_server.json" in capsys.readouterr().err
