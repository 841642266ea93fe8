"""The drawing loop."""

from pathlib import Path

from matplotlib.figure import Figure

from scale_tests.measure.drawing import Picture, draw, legend_below, panels


def _two_lines(figure: Figure, numbers: list[int]) -> bool:
    for axes in panels(figure, 2):
        axes.plot(numbers, label="a line")
    legend_below(figure)
    return bool(numbers)


LINES = Picture(name="lines", title="Two lines", plot=_two_lines, caption="What it shows.")


def test_a_picture_is_an_svg_with_its_title_and_note(tmp_path: Path) -> None:
    [drawn] = draw([LINES], [1, 2], tmp_path / "pictures", note="simulated\n64 nodes")
    assert (drawn.title, drawn.caption) == ("Two lines", "What it shows.")
    assert drawn.file == tmp_path / "pictures" / "lines.svg"
    svg = drawn.file.read_text()
    assert all(text in svg for text in ("Two lines", "simulated", "64 nodes"))
    assert drawn.file.with_suffix(".png").exists()


def test_a_name_is_in_the_legend_once() -> None:
    figure = Figure()
    _two_lines(figure, [1, 2])
    [legend] = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["a line"]


def test_a_picture_without_material_is_not_drawn(tmp_path: Path) -> None:
    assert draw([LINES], [], tmp_path) == []
    assert list(tmp_path.iterdir()) == []
