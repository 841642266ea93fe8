"""From a recording to the cells of `churn.json`, checks, tables and a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scale_tests.benches.churn import pictures, result
from scale_tests.benches.churn.result import Outcome, Recording
from scale_tests.benches.churn.timeline import phase_at, sent
from scale_tests.host.documents import data_of
from scale_tests.host.units import MIB, seconds
from scale_tests.measure import drawing
from scale_tests.measure.checks import Check
from scale_tests.measure.page import Picture, Table
from scale_tests.measure.tables import forms, tabulated

COLUMNS: dict[str, Callable[[Outcome], str]] = {
    "fault": lambda o: o.name,
    "killed": lambda o: str(o.killed),
    "least reach, %": lambda o: f"{o.least_reach_percent:g}",
    "survivors connected, s": lambda o: seconds(o.survivors_connected, never="never"),
    "one component, s": lambda o: seconds(o.one_component, never="never"),
    "accounted, s": lambda o: seconds(o.accounted, never="never"),
    "reported, s": lambda o: seconds(o.told, never=""),
    "increments": lambda o: f"{o.increments:,}",
    "lost": lambda o: f"{o.lost:,}",
    "B/s per node": lambda o: f"{o.bytes_per_second_and_node:,.0f}",
    "payload": lambda o: f"{o.payload_per_second_and_node:,.0f}",
}
"""The table's columns; times are counted from the end of the fault, but for `reported`."""

_TEXT = data_of(__file__)


class Report(Recording):
    """The report of its benchmark."""

    @property
    def accounts(self) -> list[dict[str, Any]]:
        """The counts after each phase."""
        return result.accounts(self.phases, self.samples, self.last)

    def cells(self) -> list[dict[str, Any]]:
        """The raw figures."""
        return [
            *({"figure": "fault", **asdict(outcome)} for outcome in self.outcomes),
            *({"figure": "account", **account} for account in self.accounts),
            *({"figure": "sample", **cell} for cell in self._samples()),
        ]

    def checks(self, _cells: Sequence[Any]) -> list[Check]:
        """The targets."""
        return result.checks(self.outcomes, self.last, planned=self.scenario.faults)

    def tables(self, _cells: Sequence[Any]) -> dict[str, Table]:
        """Faults and accounts, a row each."""
        return {
            "Faults": tabulated(COLUMNS, self.outcomes, _TEXT["faults"]),
            "Counts": tabulated(forms(_TEXT["counts"]), self.accounts, _TEXT["accounts"]),
        }

    def draw(self, _cells: Sequence[Any], directory: Path) -> list[Picture]:
        """Draws every picture."""
        kubernetes, otp, source = (
            self.versions.get(part, "-") for part in ("kubernetes", "otp", "source")
        )
        note = (
            f"{self.scenario.nodes} pods, HyParView, {self.scenario.synchronization} · "
            f"Kubernetes {kubernetes}, OTP {otp}, partisan {source}"
        )
        return drawing.draw(pictures.PICTURES, self, directory, note=note)

    def text(self, _meta: Mapping[str, Any], _cells: Sequence[Any]) -> list[str]:
        """Paragraphs for the page of a run."""
        scenario, (elapsed, total) = self.scenario, sent(self.samples)[-1]
        cut = _TEXT["partition" if scenario.partition_seconds else "no_partition"]
        values = {
            "s": scenario,
            "partition": cut.format(s=scenario),
            "elapsed": elapsed,
            "frames": total["frames"] / MIB,
            "payload": total["payload"] / MIB,
        }
        return [_TEXT[part].format(**values) for part in ("run", "again")]

    def _samples(self) -> list[dict[str, Any]]:
        """The time line, as JSON has it."""
        line = []
        for sample, (_, total) in zip(self.samples, sent(self.samples), strict=True):
            phase = phase_at(self.phases, sample.seconds)
            reach = None if phase is None else phase.reach(sample)
            status, run = sample.cluster, sample.cluster.workload
            connected = status.condition("OverlayConnected")
            line.append(
                {
                    "seconds": round(sample.seconds, 2),
                    "phase": phase and phase.name,
                    "answered": len(sample.nodes),
                    "joined": sample.joined,
                    "components": sample.components,
                    "reach": None if reach is None else round(reach, 4),
                    "told": {
                        "joined": status.joined,
                        "components": status.components,
                        "overlay_connected": connected and f"{connected.status} {connected.reason}",
                        "phase": status.phase,
                    },
                    "value_min": sample.values[0],
                    "value_max": sample.values[1],
                    "value": run.value,
                    "increments": run.increments_sum,
                    "lost": run.lost_increments,
                    "replaced": run.replaced_nodes,
                    "bytes_frames": total["frames"],
                    "bytes_payload": total["payload"],
                }
            )
        return line
