"""The report of a run: JSON for scripts, Markdown and HTML with pictures for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from scale_tests.experiments import checks, pictures, tables
from scale_tests.experiments.drawing import Material
from scale_tests.experiments.experiment import Experiment
from scale_tests.experiments.result import Result
from scale_tests.experiments.series import series
from scale_tests.experiments.tables import less, speed
from scale_tests.harness.commands import relative
from scale_tests.results import document as documents
from scale_tests.results.bars import Bar
from scale_tests.results.document import RESULTS
from scale_tests.results.page import (
    Page,
    Picture,
    Section,
    bars_table,
    hardware,
    hypertext,
    listed,
    markdown,
)
from scale_tests.results.units import GIB
from scale_tests.simulate.synchronization import Row

SLOW = 1.25
"""From how many times the time of counting a run is said to have taken longer."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """What was written."""

    directory: Path
    bars: list[Bar]


def write(
    experiment: Experiment,
    results: Sequence[Result],
    simulated: Sequence[Row],
    directory: Path,
    *,
    latest: Path = RESULTS,
) -> Report:
    """Writes the report of a run, of which there is at least one cell, into `directory`.

    Its JSON is written into `latest`, too, where each measurement's last result is.
    """
    held = checks.bars(results, experiment.thresholds)
    directory.mkdir(parents=True, exist_ok=True)
    measured = documents.document(
        "scale",
        started=min(datetime.fromisoformat(cell.started) for cell in results),
        versions=results[-1].versions,
        cells=[cell.brief() for cell in results] + [_simulated_cell(row) for row in simulated],
        bars=held,
        config=experiment.model_dump(by_alias=True, mode="json"),
        seed=experiment.seed,
        speedup=experiment.speedup,
        quick=experiment.quick,
        cluster_machine=results[-1].machine or "elsewhere",
        directory=str(relative(directory)),
    )
    documents.write(measured, directory)
    documents.write(measured, latest)
    drawn = []
    material = Material(
        rows=series(results), simulated=simulated, increments=experiment.ad_counter.increments
    )
    if material.rows:
        drawn = [
            Picture(
                title=picture.title,
                file=file,
                caption=f"{picture.caption} {less(experiment)}{speed(experiment)}",
            )
            for picture, file in pictures.draw(
                material, directory / "pictures", circumstances(experiment, results)
            )
        ]
    page = _page(experiment, results, simulated, measured["meta"], held, drawn)
    (directory / "README.md").write_text(markdown(page, directory))
    (directory / "report.html").write_text(hypertext(page))
    return Report(directory=directory, bars=held)


def compression(experiment: Experiment) -> list[str]:
    """What the speedup means, once for the whole page."""
    if experiment.is_real_time:
        return []
    return [
        f"Speedup {experiment.speedup_text()}: nodes count and propagate so many times as often as "
        "configured, in as much less time. The overlay's own timers are as they are, "
        "so that its share of the frames is that of the shortened time."
    ]


def circumstances(experiment: Experiment, results: Sequence[Result]) -> str:
    """The speedup, the workload, the machine and the versions in one line."""
    counter = experiment.ad_counter
    machine = results[-1].machine
    where = f"one machine of {machine['cpus']} CPUs" if machine else "a cluster elsewhere"
    versions = results[-1].versions
    return (
        f"speedup {experiment.speedup_text()} of increment {counter.increment_interval}, "
        f"propagation {counter.propagation_interval} · {counter.increments} increments per node · "
        f"{where} · OTP {versions.get('otp', '-')}, partisan {versions.get('source', '-')}"
    )


def _page(
    experiment: Experiment,
    results: Sequence[Result],
    simulated: Sequence[Row],
    meta: Mapping[str, Any],
    held: Sequence[Bar],
    drawn: Sequence[Picture],
) -> Page:
    bars = bars_table(held, f"What the run is held to. {speed(experiment)}")
    sections = [
        Section(title="Bars", text=_introduction(experiment, results, meta), parts=[bars]),
        Section(title="Pictures", parts=drawn),
        Section(
            title="Figures",
            parts=[
                tables.transmission(experiment, results, simulated),
                tables.times(experiment, results),
                tables.resources(experiment, results),
                *tables.rest(experiment, results),
            ],
        ),
        Section(title="Cells that did not come to their end", text=_failures(results)),
        Section(title="Cells that took longer than they count", text=_slow(results)),
        Section(title="Cells that were not run", text=_missing(experiment, results)),
        Section(
            title="Again",
            text=[
                "`python -m scale_tests run experiment.yaml --out DIRECTORY`, with the "
                "`experiment.yaml` of this directory. `cells/` has every cell with all of its "
                "nodes, `scale.json` all figures."
            ],
        ),
    ]
    return Page(
        title=f"{experiment.title}, {meta['started'][:10]}",
        sections=[section for section in sections if section.text or section.parts],
    )


def _introduction(
    experiment: Experiment, results: Sequence[Result], meta: Mapping[str, Any]
) -> list[str]:
    machine = meta["cluster_machine"]
    where = hardware(machine) if isinstance(machine, dict) else "a cluster elsewhere"
    return [
        f"{len(results)} cells, every one a PartisanCluster of real pods on {where}; seed "
        f"{experiment.seed}. {listed(meta['versions'])}.",
        *compression(experiment),
    ]


def _failures(results: Sequence[Result]) -> list[str]:
    return [
        f"{cell.overlay}, {cell.synchronization}, {cell.nodes:,} nodes, trial {cell.trial}: "
        f"{cell.error or 'the counters of the nodes differ'}"
        for cell in results
        if not cell.converged
    ]


def _slow(results: Sequence[Result]) -> list[str]:
    """What to know of cells in which more was exchanged than the experiment asks for."""
    names = [
        f"{cell.overlay}, {cell.synchronization}, {cell.nodes:,} nodes ({cell.slowdown:.1f} times)"
        for cell in results
        if (cell.slowdown or 0) > SLOW
    ]
    if not names:
        return []
    return [
        f"{'; '.join(names)}. Nodes go on to exchange until the run ends, so that these have sent "
        "more than in the time that is configured. Where the machine was too busy, a lower speedup "
        "gives it more time."
    ]


def _missing(experiment: Experiment, results: Sequence[Result]) -> list[str]:
    done = {(cell.nodes, cell.overlay, cell.synchronization, cell.trial) for cell in results}
    names = [
        point.name
        for point in experiment.points()
        if (point.nodes, point.overlay.name, point.synchronization, point.trial) not in done
    ]
    return ["; ".join(names)] if names else []


def _simulated_cell(row: Row) -> dict[str, Any]:
    """A simulated row, in the names of a real cell. Virtual time is not compressed."""
    return {
        "nodes": row.nodes,
        "overlay": "HyParView",
        "synchronization": row.mode.capitalize(),
        "simulated": True,
        "speedup": 1.0,
        "converged": True,
        "bytes_payload": round(row.payload * GIB),
        "bytes_frames": round(row.frames * GIB),
        "seconds_to_converge": row.seconds_to_converge,
    }
