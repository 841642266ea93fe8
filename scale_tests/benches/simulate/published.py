"""Figures of the papers, in `published.yaml`, and why the simulator's may differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scale_tests.host.documents import data_of

EXPERIMENTS: Mapping[str, Any] = data_of(__file__)
"""By experiment and overlay: values by parameter, and an explanation of the difference."""

OTHER_SIZE = "The paper's cluster has 10,000 nodes."


def paper_value(experiment: str, overlay: str, parameter: str | float) -> float | None:
    """The paper's value, if it has one."""
    found: float | None = _of(experiment, overlay).get("values", {}).get(parameter)
    return found


def explanation(
    experiment: str, overlay: str, value: float, published: float, *, other_size: bool
) -> str | None:
    """The reason why a value differs from the published one; None within the tolerance."""
    tolerance = EXPERIMENTS.get(experiment, {}).get("tolerance", 0.1 * abs(published))
    if abs(value - published) <= tolerance:
        return None
    why = _of(experiment, overlay).get("why", "")
    reasons = [OTHER_SIZE if other_size else "", why]
    return " ".join(filter(None, reasons)) or "Not explained."


def _of(experiment: str, overlay: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = EXPERIMENTS.get(experiment, {}).get(overlay, {})
    return found
