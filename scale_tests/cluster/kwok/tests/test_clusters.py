"""The pods that a storm changes, and their states."""

import pytest

from scale_tests.cluster.kwok.clusters import some_pods, states


def test_clusters_take_turns() -> None:
    pods = [("a", "a-0"), ("a", "a-1"), ("b", "b-0"), ("a", "a-2"), ("b", "b-1")]
    assert some_pods(pods, 4) == ["a-0", "b-0", "a-1", "b-1"]
    assert some_pods(pods, 9) == ["a-0", "b-0", "a-1", "b-1", "a-2"]


def test_every_pod_ends_as_it_began() -> None:
    assert states(500, 1000) == [False, True]
    assert states(100, 1000) == [False, True] * 5
    for pods in (300, 1000):
        with pytest.raises(ValueError, match="do not end where they began"):
            states(pods, 1000)
