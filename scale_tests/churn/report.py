"""The result directory: `churn.json`, the samples, the pictures and a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from scale_tests.churn import pictures, result
from scale_tests.churn.programme import Programme
from scale_tests.churn.result import Outcome
from scale_tests.churn.timeline import Phase, Sample, phase_at, sent
from scale_tests.results import document as documents
from scale_tests.results.bars import Bar
from scale_tests.results.document import RESULTS
from scale_tests.results.page import (
    Page,
    Picture,
    Section,
    Table,
    bars_table,
    hardware,
    listed,
    markdown,
)
from scale_tests.results.units import seconds

COLUMNS = (
    "fault",
    "killed",
    "least reach, %",
    "survivors connected, s",
    "one component, s",
    "accounted, s",
    "told, s",
    "increments",
    "lost",
    "B/s per node",
    "payload",
)
"""The table's columns; times are counted from the end of the fault, but for `told`."""

_TERMS = (
    "Times are from the end of the fault (the kill, the last of the churn's, the healing) but for "
    "*told*: from the beginning of the partition until the status has the condition "
    "OverlayConnected=False, Partitioned. *Reach* is the share of the survivors in one component, "
    "in looks that at least 90 % of them answered. *Accounted*: every replica holds all increments "
    "but those lost, and no more. *Lost*: counted by nodes that were killed before they had told "
    "anybody. Bytes are frames, and CRDT payload."
)
"""What the columns mean, for readers of the page."""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A recording, ended or not."""

    programme: Programme
    started: datetime
    versions: dict[str, str]
    local: bool
    quick: bool
    phases: Sequence[Phase]
    samples: Sequence[Sample]
    missed: int
    """Looks that the API server did not answer."""
    last: Sample | None
    """The sample that ended the count."""


def write(recorded: Recorded, results: Path = RESULTS) -> tuple[Path, list[Bar]]:
    """Writes everything and returns the directory, under `results`, and the bars.

    There has to be a sample.
    """
    directory = results / "churn"
    outcomes = [result.outcome(phase, recorded.samples) for phase in recorded.phases]
    bars = result.bars(outcomes, recorded.last, planned=recorded.programme.faults)
    measured = documents.document(
        "churn",
        started=recorded.started,
        versions=recorded.versions,
        cells=[{"figure": "fault", **asdict(outcome)} for outcome in outcomes]
        + [{"figure": "sample", **cell} for cell in _samples(recorded)],
        bars=bars,
        local_cluster=recorded.local,
        config=asdict(recorded.programme) | {"cluster": recorded.programme.manifest("churn")},
        seed=recorded.programme.seed,
        quick=recorded.quick,
        looks_without_answer=recorded.missed,
    )
    documents.write(measured, directory)
    documents.write(measured, results)
    material = pictures.Material(
        phases=recorded.phases, samples=recorded.samples, outcomes=outcomes
    )
    pictures.draw(material, directory, _subtitle(recorded))
    shown = page(measured, recorded.programme, outcomes, bars, directory)
    (directory / "README.md").write_text(markdown(shown, directory))
    return directory, bars


def rows(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """The table, a row for each fault, in `COLUMNS`."""
    return [
        (
            outcome.name,
            str(outcome.killed),
            f"{outcome.least_reach_percent:g}",
            seconds(outcome.survivors_connected, never="never"),
            seconds(outcome.one_component, never="never"),
            seconds(outcome.accounted, never="never"),
            seconds(outcome.told, never=""),
            f"{outcome.increments:,}",
            f"{outcome.lost:,}",
            f"{outcome.bytes_per_second_and_node:,.0f}",
            f"{outcome.payload_per_second_and_node:,.0f}",
        )
        for outcome in outcomes
    ]


def page(
    measured: dict[str, Any],
    programme: Programme,
    outcomes: Sequence[Outcome],
    bars: Sequence[Bar],
    directory: Path,
) -> Page:
    """The page of the result directory, in which the pictures are."""
    meta = measured["meta"]
    drawn = [
        Picture(title=picture.title, file=directory / f"{picture.name}.svg")
        for picture in pictures.PICTURES
    ]
    again = f"`python -m scale_tests.churn --nodes {programme.nodes} --seed {programme.seed}`"
    return Page(
        title=f"Churn and partitions, {programme.nodes} pods, {meta['started']}",
        sections=[
            Section(
                text=[_circumstances(meta, programme)],
                parts=[Table(head=COLUMNS, rows=rows(outcomes))],
            ),
            Section(text=[_TERMS], parts=[bars_table(bars), *drawn]),
            Section(text=[f"Again: {again}."]),
        ],
    )


def _circumstances(meta: Mapping[str, Any], programme: Programme) -> str:
    partition = (
        f"the partition for {programme.partition_seconds:.0f} s."
        if programme.partition_seconds
        else "no partition: this cluster's network cannot be cut from here."
    )
    return (
        f"{hardware(meta['machine'])}. {listed(meta['versions'])}. HyParView, synchronisation "
        f"{programme.synchronization}, {programme.churn_per_minute:g} nodes a minute of churn for "
        f"{programme.churn_seconds:.0f} s, {partition}"
        + (" Shortened (QUICK=1)." if meta["quick"] else "")
    )


def _samples(recorded: Recorded) -> list[dict[str, Any]]:
    """The time line, as JSON has it."""
    line = []
    for sample, odometer in zip(recorded.samples, sent(recorded.samples), strict=True):
        phase = phase_at(recorded.phases, sample.seconds)
        reach = None if phase is None else phase.reach(sample)
        run = sample.cluster.workload
        connected = sample.cluster.condition("OverlayConnected")
        line.append(
            {
                "seconds": round(sample.seconds, 2),
                "phase": None if phase is None else phase.name,
                "answered": len(sample.nodes),
                "joined": sum(node.joined for node in sample.nodes),
                "components": sample.components,
                "reach": None if reach is None else round(reach, 4),
                "told": {
                    "joined": sample.cluster.joined,
                    "components": sample.cluster.components,
                    "overlay_connected": None
                    if connected is None
                    else f"{connected.status} {connected.reason}",
                    "phase": sample.cluster.phase,
                },
                "value_min": sample.values[0],
                "value_max": sample.values[1],
                "value": run.value,
                "increments": run.increments_sum,
                "lost": run.lost_increments,
                "replaced": run.replaced_nodes,
                "bytes_frames": odometer.frames,
                "bytes_payload": odometer.payload,
            }
        )
    return line


def _subtitle(recorded: Recorded) -> str:
    versions = recorded.versions
    return (
        f"{recorded.programme.nodes} pods, HyParView, {recorded.programme.synchronization} · "
        f"Kubernetes {versions.get('kubernetes', '-')}, OTP {versions.get('otp', '-')}, "
        f"partisan {versions.get('source', '-')}"
    )
