"""From an upgrade to its cells and targets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from images.builder.catalogue import IMAGE_OTP
from scale_tests.benches.upgrade.rolling import Sample, Upgraded
from scale_tests.measure.checks import Check, equal
from scale_tests.measure.page import Table

PARTED_SAMPLES = 3
"""Neighbours of a pod that ends repair their views within this many samples."""


def cells(done: Upgraded) -> list[dict[str, Any]]:
    """The samples, and the end of the run."""
    run = done.status.workload
    ended = {
        "what": "end",
        "nodes": len(done.nodes),
        "value": run.value,
        "values": sorted({node.value for node in done.nodes}),
        "digests": len({node.digest for node in done.nodes}),
        "increments_sum": run.increments_sum,
        "lost_increments": run.lost_increments,
        "replaced_nodes": run.replaced_nodes,
        "restarts": done.restarts,
        "otp_before": sorted({node.otp for node in done.before}),
        "otp": sorted({node.otp for node in done.nodes}),
        "seconds_operator": round(done.seconds_operator, 1),
        "seconds_nodes": round(done.seconds_nodes, 1),
    }
    return [*({"what": "sample", **asdict(sample)} for sample in done.samples), ended]


def parted(samples: Sequence[Sample]) -> int:
    """The most samples in a row in which the nodes that had joined were in several components."""
    runs = groupby(samples, key=lambda sample: sample.components > 1)
    return max((len(list(run)) for apart, run in runs if apart), default=0)


def bars(done: Upgraded, nodes: int) -> list[Bar]:
    """The targets of an upgrade."""
    run = done.status.workload
    values = {node.value for node in done.nodes}
    both = sum(len(sample.otp) > 1 for sample in done.samples)
    fewest = min((sample.joined for sample in done.samples), default=0)
    longest = parted(done.samples)
    return [
        Bar(
            name="every count, on every node",
            value=f"{run.value} of {run.increments_sum} increments, {run.lost_increments} lost",
            bar="all counted once, none lost, all replicas equal",
            ok=len(done.nodes) == nodes
            and values == {run.value}
            and run.value == run.increments_sum >= run.threshold
            and run.lost_increments == 0
            and len({node.digest for node in done.nodes}) == 1,
        ),
        Bar(
            name="samples in a row with several components",
            value=longest,
            bar=f"<= {PARTED_SAMPLES}, and one component at the end",
            ok=longest <= PARTED_SAMPLES and done.status.components == 1,
        ),
        Bar(
            name="samples with nodes of both releases, at least half of the nodes joined",
            value=f"{both}, {fewest} joined",
            bar=f">= 1, >= {nodes // 2}",
            ok=both >= 1 and fewest >= nodes // 2,
        ),
        Bar(
            name="OTP of the nodes at the end",
            value=", ".join(sorted({node.otp for node in done.nodes})),
            bar=IMAGE_OTP,
            ok={node.otp for node in done.nodes} == {IMAGE_OTP},
        ),
        Bar(name="restarts of containers", value=done.restarts, bar="0", ok=done.restarts == 0),
    ]
