"""Targets of an upgrade, from samples."""

from dataclasses import replace

import pytest

from scale_tests.benches.upgrade import report
from scale_tests.benches.upgrade.rolling import Sample, Upgraded
from scale_tests.cluster.nodes import NodeStatus
from scale_tests.cluster.partisan import ClusterStatus, WorkloadStatus

SAMPLE = Sample(
    seconds=1.0,
    step="nodes",
    answering=2,
    joined=2,
    components=1,
    otp={"25": 1, "27": 1},
    lowest=7,
    highest=9,
)


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


def upgraded(*values: int, lost: int = 0, components: int = 1) -> Upgraded:
    run = WorkloadStatus(value=10, increments_sum=10 + lost, lost_increments=lost, threshold=10)
    return Upgraded(
        before=[replace(node("a", 2), otp="25")],
        samples=[SAMPLE],
        status=ClusterStatus(
            name="x", uid="", generation=1, replicas_wanted=2, components=components, workload=run
        ),
        nodes=[node(f"n{index}", value) for index, value in enumerate(values)],
        restarts=0,
        seconds_operator=1.0,
        seconds_nodes=2.0,
    )


def test_an_upgrade_without_a_loss_meets_its_targets() -> None:
    cells = report.cells(upgraded(10, 10))
    assert all(check.ok for check in report.checks(cells))
    assert cells[-1]["otp_before"] == ["25"]


@pytest.mark.parametrize(
    "done",
    [
        upgraded(10, 9),
        upgraded(10),
        upgraded(10, 10, lost=1),
        upgraded(10, 10, components=2),
        replace(upgraded(10, 10), restarts=1),
        replace(upgraded(10, 10), samples=[replace(SAMPLE, otp={"27": 2})]),
        replace(upgraded(10, 10), samples=[replace(SAMPLE, components=2)] * 4),
    ],
)
def test_each_loss_misses_a_target(done: Upgraded) -> None:
    assert not all(check.ok for check in report.checks(report.cells(done)))


def test_components_count_while_they_last() -> None:
    whole, apart = {"components": 1}, {"components": 2}
    assert report.parted([apart, whole, apart, apart, whole]) == 2
