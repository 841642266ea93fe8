"""The result directory's page."""

from dataclasses import replace
from pathlib import Path

from scale_tests.benches.demo.cli import BENCH
from scale_tests.benches.demo.report import Report, subtitle
from scale_tests.benches.demo.tests import runs
from scale_tests.measure.page import markdown

MACHINE = {"cpus": 2, "cpu_model": "a processor", "memory_bytes": 24_000_000_000, "kernel": "6.1"}
META = {
    "machine": MACHINE,
    "started": "2026-01-01",
    "versions": runs.VERSIONS,
    "quick": False,
}


def test_the_page_shows_figures_machine_targets_and_pictures(tmp_path: Path) -> None:
    run = Report(manifest=runs.MANIFEST, samples=runs.run(), versions=runs.VERSIONS)
    bench = replace(BENCH, report=run, text=run.text)
    page = markdown(bench.plain_page(META, (), run.draw((), tmp_path)), tmp_path)
    for words in (
        "| nodes joined | 4 of 4 |",
        "| apply to converged | 18.2 s |",
        "2 CPUs (a processor), 22 GiB of memory",
        "](impressions.svg)",
        "ok |",
    ):
        assert words in page
    assert "MISSED" not in page


def test_the_subtitle_has_config_and_versions() -> None:
    assert subtitle(runs.MANIFEST, runs.VERSIONS) == (
        "4 nodes, HyParView, increment 1s, propagation 500ms · "
        "Kubernetes v1.36.3, OTP 25, partisan 1a2b3c4"
    )
