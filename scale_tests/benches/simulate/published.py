"""Figures of the papers, in `published.yaml`, and why the simulator's may differ."""

from collections.abc import Mapping
from typing import Any

from scale_tests.benches.simulate.plan import PAPER_NODES
from scale_tests.host.documents import data_of
from scale_tests.measure.figure import Cell

EXPERIMENTS: Mapping[str, Any] = data_of(__file__)
"""By experiment and overlay: values by parameter, and an explanation of the difference."""

OTHER_SIZE = "The paper's cluster has 10,000 nodes."


def compared(measured: Mapping[str, Any], seed: int) -> Cell:
    """A figure as the simulator reported it, with the paper's, if it has one.

    It is explained where it differs from that by more than the tolerance.
    """
    experiment = EXPERIMENTS.get(measured["experiment"], {})
    theirs = experiment.get(measured["overlay"], {})
    value: float | None = theirs.get("values", {}).get(measured["parameter"])
    why = None
    if value is not None:
        tolerance = experiment.get("tolerance", 0.1 * abs(value))
        if abs(measured["value"] - value) > tolerance:
            other_size = OTHER_SIZE if measured["nodes"] != PAPER_NODES else ""
            why = f"{other_size} {theirs.get('why', '')}".strip() or "Not explained."
    return Cell(**measured, seed=seed, paper_value=value, explanation=why)
