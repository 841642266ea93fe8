"""From a recording to the cells of `churn.json`, checks, tables and a page."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scale_tests.benches.churn import pictures
from scale_tests.benches.churn.result import Recording, exact
from scale_tests.benches.churn.timeline import phase_at, sent
from scale_tests.host.documents import data_of
from scale_tests.host.units import MIB
from scale_tests.measure import drawing
from scale_tests.measure.checks import Check, equal
from scale_tests.measure.page import Picture, Table
from scale_tests.measure.tables import forms, tabulated

_TEXT = data_of(__file__)


class Report(Recording):
    """The report of its benchmark."""

    def cells(self) -> list[dict[str, Any]]:
        """The raw figures."""
        return [
            *({"figure": "fault", **asdict(outcome)} for outcome in self.outcomes),
            *({"figure": "account", **account} for account in self.accounts),
            *({"figure": "sample", **cell} for cell in self._samples()),
        ]

    def checks(self, _cells: Sequence[Any]) -> list[Check]:
        """The targets."""
        faults = [o for o in self.outcomes if o.kind != "calm"]
        restarted = {name for o in self.outcomes for name in o.restarted}
        killed = sum(o.killed for o in faults)
        # The targets of the end of the count are missed where there was none.
        run = self.last.cluster.workload if self.last else None
        return [
            equal(
                "faults after which the overlay was one component again, of all nodes",
                sum(o.one_component is not None for o in faults),
                self.scenario.faults,
            ),
            equal(
                "faults after which every replica held all that had been counted, once",
                sum(o.accounted is not None for o in faults),
                self.scenario.faults,
            ),
            Check(
                name="value + lost = increments, in every replica, when the count had ended",
                value=f"{run.value} + {run.lost_increments} = {run.increments_sum}"
                if run
                else None,
                bar="equal, in all replicas",
                ok=self.last is not None and exact(self.last),
            ),
            Check(
                name="nodes replaced, of those that were killed",
                value=f"{run.replaced_nodes} of {killed}" if run else None,
                bar="all, and no other",
                ok=run is not None and run.replaced_nodes == killed,
            ),
            equal("survivors that were restarted", len(restarted), 0),
            *(
                Check(
                    name="seconds of the partition until the status reported it",
                    value=cut.told,
                    bar="reported",
                    ok=cut.told is not None,
                )
                for cut in faults
                if cut.kind == "partition"
            ),
        ]

    def tables(self, _cells: Sequence[Any]) -> dict[str, Table]:
        """Faults and accounts, a row each."""
        outcomes = [{**asdict(each), "reported": each.told} for each in self.outcomes]
        return {
            "Faults": tabulated(forms(_TEXT["outcomes"]), outcomes, _TEXT["faults"]),
            "Counts": tabulated(forms(_TEXT["counts"]), self.accounts, _TEXT["accounts"]),
        }

    def draw(self, _cells: Sequence[Any], directory: Path) -> list[Picture]:
        """Draws every picture."""
        known = {"kubernetes": "-", "otp": "-", "source": "-"} | self.versions
        note = _TEXT["note"].format(s=self.scenario, **known)
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
