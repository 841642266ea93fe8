"""Targets of an upgrade, from samples."""

import pytest

from scale_tests.benches.upgrade import report
from scale_tests.benches.upgrade.rolling import end
from scale_tests.cluster.nodes import NodeStatus
from scale_tests.cluster.partisan import ClusterStatus, WorkloadStatus
from scale_tests.measure.spread import Cell

SAMPLE = {"joined": 2, "components": 1, "otp": {"25": 1, "27": 1}}


def node(name: str, value: int) -> NodeStatus:
    return NodeStatus(
        name=name,
        incarnation=1,
        joined=True,
        active=(),
        increments=value // 2,
        value=value,
        converged=True,
        phase="finished",
        digest="d",
        memory_bytes=1,
        sync_payload_bytes=1,
        channels=(),
        version="0.1.0",
        otp="27",
    )


def ended(*values: int, lost: int = 0, components: int = 1, restarts: int = 0) -> Cell:
    run = WorkloadStatus(value=10, increments_sum=10 + lost, lost_increments=lost, threshold=10)
    status = ClusterStatus(
        name="x", uid="", generation=1, replicas_wanted=2, components=components, workload=run
    )
    nodes = [node(f"n{index}", value) for index, value in enumerate(values)]
    return {**end(status, nodes), "restarts": restarts}


def test_an_upgrade_without_a_loss_meets_its_targets() -> None:
    assert all(check.ok for check in report.checks([SAMPLE, ended(10, 10)]))


@pytest.mark.parametrize(
    "cells",
    [
        [SAMPLE, ended(10, 9)],
        [SAMPLE, ended(10)],
        [SAMPLE, ended(10, 10, lost=1)],
        [SAMPLE, ended(10, 10, components=2)],
        [SAMPLE, ended(10, 10, restarts=1)],
        [{**SAMPLE, "otp": {"27": 2}}, ended(10, 10)],
        [*[{**SAMPLE, "components": 2}] * 4, ended(10, 10)],
    ],
)
def test_each_loss_misses_a_target(cells: list[Cell]) -> None:
    assert not all(check.ok for check in report.checks(cells))


def test_components_count_while_they_last() -> None:
    whole, apart = {"components": 1}, {"components": 2}
    assert report.parted([apart, whole, apart, apart, whole]) == 2
