"""Experiments as data: the contents of a file, and the errors of an invalid one."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from scale_tests.benches.experiments.cli import find, own
from scale_tests.benches.experiments.experiment import ExperimentError, load
from scale_tests.benches.experiments.tests.cells import DOCUMENT, experiment, write
from scale_tests.cluster import crd
from scale_tests.cluster.quantities import amount, duration, seconds


def test_the_matrix_has_every_combination_small_clusters_first() -> None:
    points = experiment(trials=2).points()
    assert len(points) == 2 * 2 * 2 * 2
    assert len({point.slug for point in points}) == len(points)
    assert [point.nodes for point in points] == [8] * 8 + [16] * 8
    assert points[0].name == "8 nodes, HyParView, State, #1"
    assert points[4].slug == "0008-clientserver-servers-2-state-1"


def test_a_cluster_follows_from_the_matrix_and_the_time_compression() -> None:
    point = experiment(spec={"discovery": {"seeds": 2}}).points()[-1]
    spec = point.manifest()["spec"]
    assert spec["replicas"] == 16
    assert spec["overlay"] == {"kind": "ClientServer", "clientServer": {"servers": 2}}
    assert spec["discovery"] == {"seeds": 2}
    assert spec["workload"] == {
        "adCounter": {
            "ads": 1,
            "impressions": 16 * 180,
            "incrementInterval": "333ms",
            "propagationInterval": "167ms",
        },
        "synchronization": "Tree",
    }


def test_real_time_is_the_published_half_hour() -> None:
    chosen = experiment(speedup=1)
    assert chosen.points()[0].counting_seconds() == 1800
    counter = chosen.points()[0].manifest()["spec"]["workload"]["adCounter"]
    assert (counter["incrementInterval"], counter["propagationInterval"]) == ("10000ms", "5000ms")


def test_larger_clusters_may_be_given_more_time() -> None:
    chosen = experiment(sizes=[8, 16, 32], speedup=30, speedup_from={16: 10, 20: 60})
    assert [chosen.speedup_of(nodes) for nodes in (8, 16, 32)] == [30, 10, 10]
    assert chosen.points()[-1].counting_seconds() == 180


def test_larger_clusters_may_have_another_spec() -> None:
    chosen = experiment(
        sizes=[8, 16, 32],
        spec={"discovery": {"seeds": 2}, "resources": {"requests": {"cpu": "10m"}}},
        spec_from={
            16: {"resources": {"requests": {"cpu": "5m"}}},
            32: {"resources": {"requests": {"cpu": "1m"}}},
        },
    )
    found = [chosen.spec_of(nodes)["resources"]["requests"]["cpu"] for nodes in (8, 16, 32)]
    assert found == ["10m", "5m", "1m"]
    assert chosen.points()[-1].manifest()["spec"]["discovery"] == {"seeds": 2}


def test_seeds_differ_between_cells_and_are_the_same_again() -> None:
    seeds = [point.seed for point in experiment().points()]
    assert len(set(seeds)) == len(seeds)
    assert seeds == [point.seed for point in experiment().points()]
    assert seeds != [point.seed for point in experiment(seed=2).points()]


@pytest.mark.parametrize("file", own(), ids=str)
def test_our_own_experiments_can_be_run(file: Path) -> None:
    chosen = load(file)
    assert chosen.name == file.stem
    assert chosen.points()


@pytest.mark.parametrize("content", [b"\xff", b"name: 2026-99-99", b"[" * 1000, b"sizes: ["])
def test_what_is_no_yaml_is_an_error_of_the_file(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "own.yaml"
    file.write_bytes(content)
    with pytest.raises(ExperimentError, match=r"own\.yaml: "):
        load(file)


def test_a_run_may_override_its_file(tmp_path: Path) -> None:
    file = write(tmp_path, yaml.safe_dump(DOCUMENT))
    assert load(file, speedup=1.0, sizes=[4], trials=None).sizes == [4]


@pytest.mark.parametrize(
    ("changes", "field", "fix"),
    [
        ({"overlays": ["HiParView"]}, "overlays.0", "choose one of FullMesh,"),
        ({"synchronizations": ["Gossip"]}, "synchronizations.0", "choose one of State,"),
        ({"sizes": [0]}, "sizes", "is not from 1 to 1024"),
        ({"sizes": []}, "sizes", "at least 1 item"),
        ({"trials": 10**9}, "trials", "less than or equal to 1000"),
        ({"speedup": 1000}, "speedup", "at most 250 is possible"),
        (
            {"adCounter": {"incrementInterval": "10"}},
            "adCounter.incrementInterval",
            "such as 500ms",
        ),
        ({"colour": "red"}, "colour", "remove it"),
        ({"spec": {"replicas": 3}}, "spec.replicas", "remove it"),
        ({"spec": {"colour": 3}}, "spec.colour", "no member"),
        ({"specFrom": {16: {"colour": 3}}}, "spec.colour", "no member"),
        ({"faults": {"hook": "scale_tests:none"}}, "faults", "remove it"),
        ({"thresholds": [{"figure": "bytes_tcp"}]}, "thresholds.0", "set most or least"),
        (
            {"thresholds": [{"figure": "bytes_tcp", "most": "1 GB"}]},
            "thresholds.0.most",
            "such as 41.8GiB",
        ),
    ],
)
def test_an_error_names_the_field_and_the_fix(
    tmp_path: Path, changes: dict[str, Any], field: str, fix: str
) -> None:
    file = write(tmp_path, yaml.safe_dump({**DOCUMENT, **changes}))
    with pytest.raises(ExperimentError) as raised:
        load(file)
    assert field in str(raised.value)
    assert fix in str(raised.value)


@pytest.mark.parametrize("text", ["- a", "a: [", ""])
def test_an_invalid_experiment_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ExperimentError, match=r"small\.yaml"):
        load(write(tmp_path, text))


def test_an_experiment_is_found_by_the_path_in_the_package() -> None:
    assert find(Path("experiments/paper.yaml")).name == "paper.yaml"
    with pytest.raises(ExperimentError, match=r"experiments/paper\.yaml"):
        find(Path("experiments/none.yaml"))


def test_the_crd_bounds_the_options() -> None:
    assert {"HyParView", "ClientServer"} <= set(crd.overlays())
    assert {"State", "Delta", "Tree"} <= set(crd.synchronizations())
    assert crd.largest() >= 1024


def test_quantities() -> None:
    assert seconds("1m30s") == 90
    assert seconds("500ms") == 0.5
    assert duration(0.3333) == "333ms"
    assert amount("41.8GiB") == pytest.approx(41.8 * (1 << 30))
    assert amount(5) == 5
    for text in ("", "0s", "-1s", "1x", "s"):
        with pytest.raises(ValueError, match="duration"):
            seconds(text)
