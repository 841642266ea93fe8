"""What is measured."""

from __future__ import annotations

from scale_tests.measure.kwok.experiment import Scenario

REST_SECONDS = 75.0


def plan(quick: bool) -> list[Scenario]:
    """One cluster of growing size, and many; controllers at Kubernetes' own rate limits."""
    sizes = (
        [(1, 32), (1, 64), (1, 128), (3, 50)]
        if quick
        else [(1, 128), (1, 256), (1, 512), (1, 1024), (20, 250)]
    )
    return [
        Scenario(clusters=clusters, pods=pods, rest_seconds=REST_SECONDS, default_limits=True)
        for clusters, pods in sizes
    ]
