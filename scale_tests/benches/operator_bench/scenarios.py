"""What is measured."""

from __future__ import annotations

from scale_tests.measure.kwok.experiment import Scenario


def plan(quick: bool) -> list[Scenario]:
    """Many clusters of some size, and one that is large."""
    if quick:
        return [
            Scenario(clusters=clusters, pods=pods, rest_seconds=75.0, storm_pods=100)
            for clusters, pods in ((3, 50), (1, 128))
        ]
    return [
        Scenario(clusters=clusters, pods=pods, rest_seconds=190.0, storm_pods=500)
        for clusters, pods in ((20, 250), (1, 1024))
    ]
