"""The published transmission, next to which ours stands.

C. Meiklejohn et al., "Practical Evaluation of the Lasp Programming Model at Large Scale", PPDP
2017: 180 increments of each node, one every 10 s, and propagation every 5 s, on 32 to 1,024 nodes.
"""

from scale_tests.benches.experiments.parts import AdCounter
from scale_tests.cluster.quantities import seconds
from scale_tests.measure.synchronization import INCREMENTS, PUBLISHED

INCREMENT_SECONDS, PROPAGATION_SECONDS = 10.0, 5.0
"""The published intervals."""

CLIENT_SERVER = {32: 0.043, 64: 0.125, 128: 0.42, 256: 1.44}
"""Transmission of full state through one server in GiB, read off the paper's figure. The run with
more nodes did not complete."""


def transmission(overlay: str, synchronization: str) -> dict[int, float]:
    """The published transmission in GiB, by the number of nodes."""
    if overlay == "HyParView":
        return PUBLISHED.get(synchronization.lower(), {})
    is_published = overlay.startswith("ClientServer") and synchronization == "State"
    return CLIENT_SERVER if is_published else {}


def is_repeated_by(counter: AdCounter) -> bool:
    """Whether nodes count and exchange as often as there.

    The speed of both does not matter to the transmission.
    """
    exchanges = seconds(counter.increment_interval) / seconds(counter.propagation_interval)
    return counter.increments == INCREMENTS and exchanges == INCREMENT_SECONDS / PROPAGATION_SECONDS
