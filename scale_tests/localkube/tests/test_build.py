"""Building the cluster's programs: versions, names, and the estimate of the time left."""

import pytest

from scale_tests.host.commands import ExpectedError
from scale_tests.localkube import build
from scale_tests.localkube.progress import duration, seconds_left
from scale_tests.localkube.toolset import module_version

GO_MOD = (build.TOOLS / "go.mod").read_text()


@pytest.mark.parametrize("module", ["k8s.io/kubernetes", "helm.sh/helm/v3"])
def test_the_pinned_versions_are_found(module: str) -> None:
    assert module_version(module, build.TOOLS).startswith("v")


def test_a_module_that_is_not_required_is_named() -> None:
    with pytest.raises(ExpectedError, match=r"requires no example\.org/absent"):
        module_version("example.org/absent", build.TOOLS)


def test_the_directory_carries_the_version_and_a_digest_of_the_pins() -> None:
    name, _, digest = build.TOOLSET.bin_directory.name.rpartition("-")
    assert name == build.KUBERNETES
    assert len(digest) == 12


def test_every_staging_repository_has_the_version_of_kubernetes() -> None:
    wanted = build.KUBERNETES.replace("v1.", "v0.")
    replaced = [line.split()[-1] for line in GO_MOD.splitlines() if "=>" in line]
    assert replaced
    assert set(replaced) == {wanted}


@pytest.mark.parametrize(
    ("done", "total", "elapsed", "expected"),
    [
        (0, 100, 60, None),
        (1, 100, 60, None),  # too little done
        (50, 100, 2, None),  # too early
        (25, 100, 30, 90),
        (100, 100, 30, 0),
    ],
)
def test_time_left(done: int, total: int, elapsed: float, expected: float | None) -> None:
    assert seconds_left(done, total, elapsed) == expected


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59.6, "1 min 00 s"), (245, "4 min 05 s")]
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert duration(seconds) == text
