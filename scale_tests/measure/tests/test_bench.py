"""The protocol of a benchmark, with one that measures nothing."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from scale_tests.host.commands import CommandError
from scale_tests.measure import document
from scale_tests.measure.bench import Bench, Cell, Session, names_of, option
from scale_tests.measure.checks import Check, at_most
from scale_tests.measure.page import Picture, Table


class Seconds:
    """Cells of seconds, of which none may have more than two."""

    def checks(self, cells: Sequence[Cell]) -> list[Check]:
        return [at_most("seconds", max(cell["seconds"] for cell in cells), 2)]

    def tables(self, cells: Sequence[Cell]) -> Mapping[str, Table]:
        rows = [[str(number), f"{cell['seconds']}"] for number, cell in enumerate(cells)]
        return {"Runs": Table(head=("run", "s"), rows=rows)}


def draw(_cells: Sequence[Cell], directory: Path) -> list[Picture]:
    file = directory / "a.svg"
    file.write_text("<svg>drawn</svg>")
    return [Picture(title="A picture", file=file)]


def measure(session: Session) -> int:
    if session.options.fail:
        raise CommandError(["true"], 1, "it does not")
    if session.options.again:
        return session.again()
    cells = [{"seconds": session.options.seconds}]
    return session.conclude(
        cells,
        versions={"otp": "27"},
        also={"more": [{"seconds": 0.5}]} if session.quick else None,
        config={"runs": 1},
    )


BENCH = Bench(
    name="idle",
    document="bench-idle",
    about=__doc__,
    measure=measure,
    report=Seconds(),
    draw=draw,
    options=(
        option("--seconds", type=float, default=1.0),
        option("--fail", action="store_true"),
        option("--again", action="store_true"),
        names_of("PART", ("all", "some")),
    ),
)


@pytest.fixture(autouse=True)
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stands for build/results."""
    monkeypatch.delenv("QUICK", raising=False)
    monkeypatch.setattr(document, "RESULTS", tmp_path)
    return tmp_path


def test_documents_page_and_pictures_are_written(
    results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert BENCH.main([]) == 0
    [kept, copy] = (
        json.loads((results / name).read_text())
        for name in ("bench-idle.json", "bench-idle/bench-idle.json")
    )
    assert kept == copy
    assert kept["meta"]["name"] == "bench-idle"
    assert kept["meta"]["quick"] is False
    assert kept["meta"]["config"] == {"runs": 1}
    assert kept["bars"] == [{"name": "seconds", "value": 1.0, "bar": "<= 2", "ok": True}]
    page = (results / "bench-idle" / "README.md").read_text()
    assert page.startswith("# `python -m scale_tests idle`, ")
    assert "![A picture](a.svg)" in page
    assert "| seconds | 1.0 | <= 2 | ok |" in page
    shown = capsys.readouterr().out
    assert "Runs" in shown
    assert "ok: seconds: 1.0 (<= 2)" in shown


def test_a_missed_check_is_the_status(tmp_path: Path) -> None:
    out = tmp_path / "elsewhere"
    assert BENCH.main(["--seconds", "3", "--out", str(out)]) == 1
    assert "MISSED" in (out / "README.md").read_text()


def test_what_is_no_directory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "README.md").write_text("another page")
    for out in ("", "README.md"):
        with pytest.raises(SystemExit):
            BENCH.main(["--out", out])
        assert f"{out!r} is no directory" in capsys.readouterr().err
    assert (tmp_path / "README.md").read_text() == "another page"


def test_cells_with_a_document_of_their_own_are_on_the_page(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUICK", "1")
    assert BENCH.main([]) == 0
    assert json.loads((results / "more.json").read_text())["cells"] == [{"seconds": 0.5}]
    assert json.loads((results / "bench-idle.json").read_text())["meta"]["quick"] is True
    page = (results / "bench-idle" / "README.md").read_text()
    assert "| 1 | 0.5 |" in page
    assert "`QUICK=1`: fewer" in page


def test_a_page_is_written_again_from_its_document(results: Path) -> None:
    assert BENCH.main([]) == 0
    page = results / "bench-idle" / "README.md"
    before = page.read_text()
    page.unlink()
    assert BENCH.main(["--again"]) == 0
    assert page.read_text() == before


def test_an_expected_error_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert BENCH.main(["--fail"]) == 1
    assert "it does not" in capsys.readouterr().err


def test_a_part_that_is_not_known_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert BENCH.parser().parse_args(["some"]).names == ["some"]
    with pytest.raises(SystemExit):
        BENCH.main(["none"])
    assert "there are all, some" in capsys.readouterr().err
