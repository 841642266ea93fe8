"""The live display, on a terminal and elsewhere."""

import io

from rich.console import Console

from scale_tests.benches.demo.live import View, plain_line, table
from scale_tests.benches.demo.tests import runs
from scale_tests.cluster.partisan import Condition
from scale_tests.host.units import size

PULL = Condition(
    type="Degraded", status="True", reason="ImagePull", message="pod ads-0 cannot pull its image"
)


def test_a_plain_line_says_how_far_the_run_is() -> None:
    line = plain_line(runs.sample(9))
    for words in ("9.0 s", "pods 4/4", "joined 4/4", "components 1", "impressions 8..20 of 40"):
        assert words in line


def test_a_condition_is_shown_in_the_table() -> None:
    console = Console(file=io.StringIO(), record=True, width=120)
    console.print(table(runs.sample(2, condition=PULL)))
    assert PULL.message in console.export_text()


def test_a_condition_is_shown_once_where_there_is_no_terminal() -> None:
    output = io.StringIO()
    view = View(Console(file=output, width=300))
    for second in range(1, 9):
        view.show(runs.sample(second, condition=PULL))
    assert output.getvalue().count(PULL.message) == 1


def test_plain_lines_come_seldom_and_the_last_always_but_once() -> None:
    samples = runs.run()
    output = io.StringIO()
    view = View(Console(file=output, width=300))
    for sample in samples:
        view.show(sample)
    view.show(samples[-1], last=True)
    view.show(samples[-1], last=True)
    seconds = [float(line.split()[0]) for line in output.getvalue().splitlines()]
    assert seconds == [0.0, 5.0, 10.0, 15.0, 18.0]


def test_sizes_are_readable() -> None:
    assert [size(count) for count in (0, 999, 1234, 5_600_000, 7.8e12)] == [
        "0 B",
        "999 B",
        "1.2 kB",
        "5.6 MB",
        "7800.0 GB",
    ]
