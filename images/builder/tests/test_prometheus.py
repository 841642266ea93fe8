"""The programs of the Prometheus image."""

from images.builder.prometheus import TOOLSET


def test_prometheus_is_cached_next_to_the_programs_of_kubernetes() -> None:
    assert TOOLSET.bin_directory.name.startswith("prometheus-")
    assert set(TOOLSET.programs) == {"prometheus", "promtool"}
