"""The judge: histories written by hand, and those of the simulator's campaigns."""

import json
from pathlib import Path
from typing import Any

import pytest

from scale_tests.host.commands import ROOT, CommandError, capture
from scale_tests.measure.judge import linearizable

Operation = dict[str, Any]

_CAMPAIGNS = 30
_APPS = ROOT / "erlang_node" / "apps"
_SOURCES = (
    *sorted(_APPS.glob("ring/src/ring_*.erl")),
    _APPS / "simulator/src/simulator_clock.erl",
    *sorted(_APPS.glob("experiments/src/ring/*.erl")),
)


def operation(kind: str, value: int, call: int, end: int | None, client: int = 1) -> Operation:
    return {
        "key": 1,
        "client": client,
        "kind": kind,
        "value": value,
        "call": call,
        "return": end,
    }


def verdict(directory: Path, history: list[Operation]) -> linearizable.Verdict:
    file = directory / "history.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in history))
    (found,) = linearizable.judge([file])
    assert found.operations == len(history)
    return found


WRITES = [operation("write", 1, 0, 5), operation("write", 2, 10, 20)]
LATE = operation("read", 1, 21, 22, client=2)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ([operation("read", 0, 0, 1, 2), operation("read", 1, 2, 3, 3)], True),
        ([operation("read", 1, 6, 12, 2), operation("read", 2, 13, 14, 3)], True),
        ([operation("write", 3, 30, None), operation("read", 2, 31, 32, 2)], True),
        ([LATE], False),
        ([operation("read", 2, 11, 12, 2), operation("read", 1, 13, 14, 3)], False),
        ([operation("read", -1, 12, 13, 2)], False),
    ],
    ids=["concurrent", "in order", "without an answer", "stale", "newer, then older", "invented"],
)
def test_registers_are_judged(tmp_path: Path, more: list[Operation], expected: bool) -> None:
    found = verdict(tmp_path, WRITES + more)
    assert found.linearizable is expected
    assert found.wrong == (() if expected else (1,))


def test_files_that_are_no_history_are_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="kind must be read or write"):
        verdict(tmp_path, [operation("delete", 0, 1, 2)])
    with pytest.raises(CommandError, match="no such file"):
        linearizable.judge([tmp_path / "absent"])


def test_campaigns_with_atomic_reads_are_linearizable_and_a_stale_read_in_one_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capture(["erlc", "-o", str(tmp_path), *map(str, _SOURCES)])
    run = ["erl", "-noshell", "-pa", str(tmp_path), "-run", "ring_campaign", "main"]
    capture([*run, str(tmp_path), str(_CAMPAIGNS)])
    files = sorted(tmp_path.glob("*.jsonl"))
    assert len(files) == _CAMPAIGNS
    assert linearizable.main(list(map(str, files))) == 0
    assert len(capsys.readouterr().out.splitlines()) == _CAMPAIGNS
    assert sum(found.operations for found in linearizable.judge(files)) > 50 * _CAMPAIGNS

    history = [json.loads(line) for line in files[0].read_text().splitlines()]
    acknowledged = [one for one in history if one["kind"] == "write" and one["return"] is not None]
    first = next(
        a
        for a in acknowledged
        for b in acknowledged
        if a["key"] == b["key"] and a["value"] > 0 and a["return"] < b["call"]
    )
    end = max(one["return"] for one in history if one["return"])
    stale = {**first, "kind": "read", "client": 99, "call": end + 1, "return": end + 2}
    assert verdict(tmp_path, [*history, stale]).wrong == (first["key"],)
    assert linearizable.main([str(tmp_path / "history.jsonl")]) == 1
