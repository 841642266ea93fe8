"""The programs of the Prometheus image."""

from images.builder.prometheus import TOOLSET


def test_prometheus_is_kept_beside_the_programs_of_kubernetes() -> None:
    assert TOOLSET.bin_directory.name.startswith("prometheus-")
    assert set(TOOLSET.programs) == {"prometheus", "promtool"}
