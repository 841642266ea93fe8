"""The published figures, of which the live page has a copy."""

import json

from scale_tests.benches.experiments.comparison import published
from scale_tests.host.commands import ROOT

PAGE = ROOT / "operator/console/src/model/published.json"


def test_the_live_page_compares_with_the_same_figures() -> None:
    shown = {
        tuple(name.split()): {int(nodes): gib for nodes, gib in figures.items()}
        for name, figures in json.loads(PAGE.read_text()).items()
    }
    overlays, synchronizations = ("HyParView", "ClientServer"), ("State", "Delta", "Tree")
    assert shown == {
        (overlay, synchronization): figures
        for overlay in overlays
        for synchronization in synchronizations
        if (figures := published(overlay, synchronization))
    }
