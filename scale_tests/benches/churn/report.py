"""The result directory: `churn.json`, the samples, the pictures and a page in both forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from scale_tests.benches.churn import pictures, result
from scale_tests.benches.churn.account import Account, accounts
from scale_tests.benches.churn.programme import Programme
from scale_tests.benches.churn.result import Outcome
from scale_tests.benches.churn.timeline import Phase, Sample, phase_at, sent
from scale_tests.host.units import MIB, seconds
from scale_tests.measure import document as documents
from scale_tests.measure.bars import Bar
from scale_tests.measure.document import RESULTS
from scale_tests.measure.page import Page, Picture, Section, Table, bars_table, hardware, listed
from scale_tests.measure.page import write as write_page

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

_FAULTS = (
    "Every node is a pod. Times are from the end of the fault (the kill, the last of the churn's, "
    "the healing) but for `told`: from the beginning of the partition until the status has the "
    "condition OverlayConnected=False, Partitioned. Reach is the share of the survivors in one "
    "component, in looks that at least 90 % of them answered. Accounted: every replica holds all "
    "increments but those lost, and no more. Lost: counted by nodes that were killed before they "
    "had told anybody. Bytes are frames, and CRDT payload, from the beginning of the fault until "
    "one component."
)
"""What the columns mean, for readers of the page."""

_ACCOUNTS = (
    "Due are the increments made until all nodes were one component again, without those lost. "
    "The account is right when every replica holds what is due, and none more than has been made "
    "without the lost. While all count replicas are behind by what is on its way; when the count "
    "has ended value + lost = increments in every one of them."
)
"""What the columns of the accounts mean."""


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


def write(recorded: Recorded, directory: Path, *, latest: Path = RESULTS) -> list[Bar]:
    """Writes everything into `directory` and returns the bars. There has to be a sample.

    The JSON is written into `latest`, too, where each measurement's last result is.
    """
    outcomes = [result.outcome(phase, recorded.samples) for phase in recorded.phases]
    bars = result.bars(outcomes, recorded.last, planned=recorded.programme.faults)
    told = accounts(recorded.phases, recorded.samples, recorded.last)
    measured = documents.document(
        "churn",
        started=recorded.started,
        versions=recorded.versions,
        cells=[{"figure": "fault", **asdict(outcome)} for outcome in outcomes]
        + [{"figure": "account", **asdict(account)} for account in told]
        + [{"figure": "sample", **cell} for cell in _samples(recorded)],
        bars=bars,
        local_cluster=recorded.local,
        config=asdict(recorded.programme) | {"cluster": recorded.programme.manifest("churn")},
        seed=recorded.programme.seed,
        quick=recorded.quick,
        looks_without_answer=recorded.missed,
    )
    documents.write(measured, directory)
    documents.write(measured, latest)
    material = pictures.Material(
        phases=recorded.phases, samples=recorded.samples, outcomes=outcomes
    )
    drawn = pictures.draw(material, directory, _subtitle(recorded))
    tables = [
        bars_table(bars, "What the run is held to."),
        Table(head=COLUMNS, rows=rows(outcomes), caption=_FAULTS),
        _accounts_table(told),
    ]
    write_page(_page(measured["meta"], recorded, tables, drawn), directory)
    return bars


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


def _accounts_table(told: Sequence[Account]) -> Table:
    return Table(
        caption=_ACCOUNTS,
        head=("after", "due", "least value", "largest value", "lost", "increments"),
        rows=[
            (
                account.name,
                *(
                    f"{figure:,}"
                    for figure in (
                        account.due,
                        account.least,
                        account.largest,
                        account.lost,
                        account.made,
                    )
                ),
            )
            for account in told
        ],
    )


def _page(
    meta: Mapping[str, Any],
    recorded: Recorded,
    tables: Sequence[Table],
    drawn: Sequence[Picture],
) -> Page:
    """The page of the result directory, in which the pictures are."""
    programme = recorded.programme
    bars, faults, account = tables
    again = (
        f"`python -m scale_tests churn --nodes {programme.nodes} --seed {programme.seed} "
        f"--synchronization {programme.synchronization} --out DIRECTORY`"
    )
    return Page(
        title=f"Churn and partitions, {programme.nodes} pods, {meta['started'][:10]}",
        sections=[
            Section(title="Bars", text=[_circumstances(meta, programme)], parts=[bars]),
            Section(title="Faults", parts=[faults, *drawn]),
            Section(title="The account", text=[_sent(recorded.samples)], parts=[account]),
            Section(
                title="Again",
                text=[f"{again}. The same seed kills the same pods; `churn.json` has every look."],
            ),
        ],
    )


def _sent(samples: Sequence[Sample]) -> str:
    """What was sent in all."""
    whole = sent(samples)[-1]
    return (
        f"In the {whole.seconds:,.0f} s from the apply to the end all nodes together sent "
        f"{whole.frames / MIB:,.1f} MiB in frames, of which {whole.payload / MIB:,.1f} MiB were "
        "counters."
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
