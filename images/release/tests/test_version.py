"""One version, in all places that need it."""

from pathlib import Path

import pytest
import yaml

from images.release import version
from images.release.version import PLACES, ReleaseError
from scale_tests.cluster import crd
from scale_tests.cluster.operator import CHART
from scale_tests.host.commands import ROOT


def test_chart_operator_and_runtime_have_one_version() -> None:
    expected = [version.version()]
    assert {place: found for place, found in version.versions().items() if found != expected} == {}


def test_every_place_names_a_file_that_is_there() -> None:
    assert [place.files for place in PLACES if not list(place.found(ROOT))] == []


def test_the_chart_announces_the_versions_that_the_crd_serves() -> None:
    chart = yaml.safe_load((ROOT / CHART / "Chart.yaml").read_text())
    announced = yaml.safe_load(chart["annotations"]["artifacthub.io/crds"])
    served = [each["name"] for each in crd.definition()["spec"]["versions"] if each["served"]]
    assert [each["version"] for each in announced] == served


def test_the_next_version_is_written_to_all_places(tmp_path: Path) -> None:
    for place in PLACES:
        for path, _ in place.found(ROOT):
            copy = tmp_path / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(path.read_text())
    version.write("10.20.30", tmp_path)
    assert {text for found in version.versions(tmp_path).values() for text in found} == {"10.20.30"}
    assert version.version(tmp_path) == "10.20.30"


@pytest.mark.parametrize("text", ["", "v1.2.3", "1.2", "1.2.3-rc.1"])
def test_a_version_of_another_form_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match=r"must have the form 1\.2\.3"):
        version.write(text, tmp_path)
