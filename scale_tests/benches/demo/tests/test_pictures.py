"""Pictures come out of any run, finished or not."""

from pathlib import Path

import pytest

from scale_tests.benches.demo import pictures
from scale_tests.benches.demo.sample import Sample
from scale_tests.benches.demo.tests import runs
from scale_tests.measure import drawing


@pytest.mark.parametrize(
    "samples",
    [runs.run(), runs.run()[:3], runs.run()[:1]],
    ids=["finished", "interrupted while forming", "before any node answered"],
)
def test_every_picture_is_written_as_svg_and_png(tmp_path: Path, samples: list[Sample]) -> None:
    drawing.draw(pictures.PICTURES, samples, tmp_path, note="4 nodes")
    files = list(tmp_path.iterdir())
    assert {file.name for file in files} == {
        f"{name}.{suffix}"
        for name in ("formation", "impressions", "channels")
        for suffix in ("svg", "png")
    }
    assert all(file.stat().st_size > 1000 for file in files)


def test_a_picture_has_a_caption(tmp_path: Path) -> None:
    drawing.draw(pictures.PICTURES, runs.run(), tmp_path, note="4 nodes, HyParView")
    text = (tmp_path / "impressions.svg").read_text()
    for words in ("4 nodes, HyParView", "threshold 40", "seconds since kubectl apply"):
        assert words in text
