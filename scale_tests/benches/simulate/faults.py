"""What a page shows of simulated faults: tables of the overlay and of the counter, and pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from scale_tests.benches.simulate import churn
from scale_tests.measure.figure import Cell
from scale_tests.measure.page import Picture, Section, Table

_OVERLAY = (
    "Simulated: how the overlay took each fault. A node that was killed comes back as another life "
    "10 to 30 s later (10 s in the churn). Survivors are those that the fault has not killed; "
    "while the network is cut, links across do not count. Seconds are from the kill, or the "
    "healing, for the survivors, and from the start of the last successor, or the healing, for all "
    "nodes; looks are 50 ms apart. Messages and bytes are the overlay's own, as pods' frames, from "
    "the fault until all nodes are one component again."
)

_COUNTER = (
    "Simulated: the account of the ad counter, which counts every 10 s and propagates every 5 s, "
    "on the traces of such faults. When nobody counts any more and all replicas are equal, value + "
    "lost = increments; lost is what nodes had counted and told nobody when they were killed. "
    "Bytes are frames and, of them, counters, until a minute after the overlay is whole again; "
    "replicas converge from the last count until all are equal."
)

PICTURES = {"churn_reach": "Survivors of faults", "churn_behind": "The ad counter under faults"}
"""The pictures of faults, and what they are called."""


def section(figures: Sequence[Cell], svgs: Mapping[str, Path]) -> Section | None:
    """The part of a page that is about faults; None where none was simulated."""
    tables = [*_overlay(figures), *_counter(figures)]
    if not tables:
        return None
    drawn = [
        Picture(title=f"Simulated: {title}", file=svgs[name])
        for name, title in PICTURES.items()
        if name in svgs
    ]
    return Section(title="Faults", parts=[*tables, *drawn])


def _overlay(figures: Sequence[Cell]) -> list[Table]:
    rows = [
        (
            churn.FAULTS[fault.name],
            f"{fault.nodes:,}",
            f"{fault.values['killed']:,.0f}",
            f"{fault.values['least_reach']:.4g}",
            f"{fault.values['most_components']:,.0f}",
            _after(fault.values.get("survivors_connected")),
            _after(fault.values.get("one_component")),
            f"{fault.values['messages_per_node_second']:.2f}",
            f"{fault.values['frame_bytes_per_node_second']:,.0f}",
        )
        for fault in churn.faults(figures, churn.OVERLAY)
    ]
    head = (
        "fault",
        "nodes",
        "killed",
        "survivors in one component, least, %",
        "most components",
        "survivors one component after, s",
        "all nodes after, s",
        "messages/s a node",
        "bytes/s a node",
    )
    return [Table(head=head, rows=rows, caption=_OVERLAY)] if rows else []


def _after(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.2f}"


def _counter(figures: Sequence[Cell]) -> list[Table]:
    rows = [
        (
            mode.capitalize(),
            churn.FAULTS[fault.name],
            f"{fault.nodes:,}",
            *(
                f"{fault.values[name]:,.0f}" if name in fault.values else ""
                for name in (
                    "increments",
                    "value",
                    "lost",
                    "frame_bytes_per_node_second",
                    "payload_bytes_per_node_second",
                    "seconds_to_converge",
                )
            ),
        )
        for experiment, mode in churn.COUNTERS.items()
        for fault in churn.faults(figures, experiment)
    ]
    head = (
        "synchronization",
        "fault",
        "nodes",
        "increments",
        "value",
        "lost",
        "bytes/s a node",
        "counters",
        "converge, s",
    )
    return [Table(head=head, rows=rows, caption=_COUNTER)] if rows else []
