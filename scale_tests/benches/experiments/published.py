"""The published transmission, beside which ours stands.

C. Meiklejohn et al., "Practical Evaluation of the Lasp Programming Model at Large Scale", PPDP
2017: 180 increments of each node, one every 10 s, and propagation every 5 s, on 32 to 1,024 nodes.
"""

from __future__ import annotations

from scale_tests.benches.experiments.parts import AdCounter
from scale_tests.cluster.quantities import seconds
from scale_tests.measure.synchronization import INCREMENTS, PUBLISHED

INCREMENT_SECONDS, PROPAGATION_SECONDS = 10.0, 5.0
"""The published intervals."""

CLIENT_SERVER = {32: 0.043, 64: 0.125, 128: 0.42, 256: 1.44}
"""Transmission of full state through one server in GiB, read off the paper's figure. It did not
come to its end with more nodes."""


def transmission(overlay: str, synchronization: str, nodes: int) -> float | None:
    """The published transmission in GiB, if there is any."""
    if overlay == "HyParView":
        return PUBLISHED.get((synchronization.lower(), nodes))
    if overlay.startswith("ClientServer") and synchronization == "State":
        return CLIENT_SERVER.get(nodes)
    return None


def is_repeated_by(counter: AdCounter) -> bool:
    """Whether nodes count as often as there, and exchange as often meanwhile.

    How fast both are does not matter to what is transmitted.
    """
    exchanges = seconds(counter.increment_interval) / seconds(counter.propagation_interval)
    return counter.increments == INCREMENTS and exchanges == INCREMENT_SECONDS / PROPAGATION_SECONDS


def sizes(overlay: str, synchronization: str) -> list[int]:
    """The cluster sizes for which there is a published transmission."""
    everything = {nodes for _, nodes in PUBLISHED} | CLIENT_SERVER.keys()
    return sorted(n for n in everything if transmission(overlay, synchronization, n) is not None)
