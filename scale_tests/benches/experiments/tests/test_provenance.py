"""Under which circumstances cells came about, where they are not the same for all."""

from scale_tests.benches.experiments import provenance
from scale_tests.benches.experiments.tests.cells import experiment, result
from scale_tests.measure.cells import Result

OTHER = {"cpus": 4, "cpu_model": "other", "memory_bytes": 16 << 30, "kernel": "6.2"}


def _results() -> list[Result]:
    """Of 8 and 16 nodes by one source on one machine, of 16 and 32 by another elsewhere."""
    chosen = experiment(sizes=[8, 16, 32], synchronizations=["State"], speedup_from={16: 10})
    first, second, third, fourth, *rest = chosen.points()
    later = {"versions": {"otp": "25", "source": "def"}, "machine": OTHER}
    return [
        *(result(point) for point in (first, second, third)),
        *(result(point, **later) for point in (fourth, *rest)),
    ]


def test_a_version_has_its_sizes_where_there_are_several() -> None:
    assert provenance.versions(_results()) == {
        "otp": "25",
        "source": "abc (8, 16 nodes); def (16, 32 nodes)",
    }


def test_so_is_a_machine() -> None:
    results = _results()
    assert provenance.machines_text(results) == (
        "2 CPUs (model), 8 GiB of memory, kernel 6.1 (8, 16 nodes); "
        "4 CPUs (other), 16 GiB of memory, kernel 6.2 (16, 32 nodes)"
    )
    assert [entry["nodes"] for entry in provenance.machines(results)] == [[8, 16], [16, 32]]
    assert provenance.machines(results)[1]["machine"] == OTHER


def test_a_cluster_elsewhere_has_no_machine_of_ours() -> None:
    cell = result(experiment().points()[0], machine={})
    assert provenance.machines([cell]) == [{"machine": None, "nodes": [8]}]
    assert provenance.machines_text([cell]) == "a cluster elsewhere"


def test_time_compression_is_that_of_the_sizes_that_were_run() -> None:
    results = _results()
    assert provenance.compressions(results) == {8: 30, 16: 10, 32: 10}
    assert provenance.speed(results) == "Time compression 30, from 16 nodes on 10."
    assert provenance.speed(results[:2]) == "Time compression 30."
    assert provenance.speed(results[2:]) == "Time compression 10."


def test_real_time_is_no_compression() -> None:
    cells = [result(experiment(speedup=1).points()[0])]
    assert provenance.speed(cells) == "Real time."
    assert provenance.compression(cells) == []


def test_pictures_name_every_source() -> None:
    _workload, ran = provenance.circumstances(experiment(), _results()).splitlines()
    assert ran == "one machine of 2 CPUs; one machine of 4 CPUs · OTP 25, partisan abc, def"
