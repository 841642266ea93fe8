"""The document of a measurement."""

import io
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

from matplotlib.figure import Figure
from rich.console import Console

from scale_tests.measure import document as documents
from scale_tests.measure.checks import Check, at_least, at_most, equal, show
from scale_tests.measure.drawing import save
from scale_tests.measure.spread import Spread

HELD = Check(name="links [of all]", value=7, bar="= 7", ok=True)
MISSED = Check(name="seconds", value=1.5, bar="<= 1", ok=False)
NOT_RUN = Check(name="bytes", value=None, bar="<= 1", ok=None)


def test_a_document_is_written_under_its_name(tmp_path: Path) -> None:
    east = timezone(timedelta(hours=2))
    measured = documents.document(
        "mesh",
        started=datetime(2026, 1, 1, 12, 0, 0, 5, east),
        versions={"otp": "25"},
        cells=[{"seconds": 1.5}],
        checks=[MISSED],
        quick=True,
    )
    file = documents.write(measured, tmp_path / "results")
    assert file.name == "mesh.json"
    read = json.loads(file.read_text())
    assert read["meta"]["started"] == "2026-01-01T10:00:00+00:00"
    assert read["meta"]["versions"] == {"otp": "25"}
    assert read["meta"]["quick"] is True
    assert read["meta"]["machine"]["cpus"] >= 1
    assert read["cells"] == [{"seconds": 1.5}]
    assert read["bars"] == [{"name": "seconds", "value": 1.5, "bar": "<= 1", "ok": False}]


def test_checks_are_shown_one_a_line_and_must_all_hold() -> None:
    written = io.StringIO()
    assert not show(Console(file=written, width=100), [HELD, MISSED])
    assert written.getvalue() == "ok: links [of all]: 7 (= 7)\nMISSED: seconds: 1.5 (<= 1)\n"
    assert show(Console(file=io.StringIO()), [HELD])


def test_a_check_of_which_nothing_was_run_is_shown_and_not_missed() -> None:
    written = io.StringIO()
    assert show(Console(file=written, width=100), [HELD, NOT_RUN])
    assert written.getvalue().endswith("not run: bytes: - (<= 1)\n")


def test_a_spread_has_median_least_and_largest() -> None:
    assert str(Spread.of(iter([3.0, 1.0, 2.5]))) == "2.5 (1 to 3)"


def test_a_figure_is_saved_as_svg_without_a_date_and_as_png(tmp_path: Path) -> None:
    svg, png = save(Figure(figsize=(1, 1)), tmp_path / "pictures", "dot")
    assert (svg.name, png.name) == ("dot.svg", "dot.png")
    assert "<dc:date>" not in svg.read_text()
    assert png.read_bytes().startswith(b"\x89PNG")


def test_a_limit_is_a_check() -> None:
    assert at_most("s", 2.5, 2, shown="2.50") == Check(name="s", value="2.50", bar="<= 2", ok=False)
    assert at_least("s", 2.5, 2).ok
    assert at_most("s", None, 2, also="none left").bar == "<= 2, none left"
    assert at_most("s", None, 2).ok is None
    assert at_most("s", 1, 2, also="none left", met=False).ok is False
    assert equal("nodes", 3, 3) == Check(name="nodes", value=3, bar="= 3", ok=True)
