"""The report of a run: JSON for scripts, Markdown and HTML with pictures for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from scale_tests.benches.experiments import (
    checks,
    not_run,
    pictures,
    provenance,
    published,
    simulated,
    tables,
)
from scale_tests.benches.experiments.drawing import Material
from scale_tests.benches.experiments.experiment import Experiment
from scale_tests.benches.experiments.not_run import NotRun
from scale_tests.benches.experiments.series import series
from scale_tests.benches.experiments.simulated import Simulated
from scale_tests.host.commands import relative
from scale_tests.measure import document as documents
from scale_tests.measure.bars import Bar
from scale_tests.measure.cells import SLOW, Result
from scale_tests.measure.page import Link, Page, Picture, Section, bars_table, listed
from scale_tests.measure.page import write as write_page

BESIDE = (
    ("scale", "The published evaluation from 32 nodes on, overlay by overlay"),
    ("thousand", "The published evaluation with 1,024 nodes, in real time"),
    ("churn", "Churn and partitions: nodes killed, replaced and cut off while they count"),
    ("client-server", "Client-server past 256 nodes: a server's memory with bounds and without"),
)
"""The rest of the evaluation: directories of results, and what their pages are about."""


@dataclass(frozen=True, kw_only=True)
class Report:
    """What was written."""

    directory: Path
    bars: list[Bar]


@dataclass(frozen=True, kw_only=True)
class Contents:
    """What there is to report."""

    experiment: Experiment
    results: Sequence[Result]
    """Of the cells that were run, of which there is at least one."""
    simulated: Sequence[Simulated]
    missing: Sequence[NotRun]
    bars: Sequence[Bar]


def write(
    experiment: Experiment,
    results: Sequence[Result],
    rows: Sequence[Simulated],
    directory: Path,
    *,
    left_out: Mapping[str, str],
    latest: Path,
) -> Report:
    """Writes the report of a run, of which there is at least one cell, into `directory`.

    Simulated cells (`rows`) stand beside an experiment in which nodes count as often. `left_out`
    has why cells were not run, by their points' slugs. The report's JSON is written into `latest`,
    too, where each measurement's last result is.
    """
    beside = rows if published.is_repeated_by(experiment.ad_counter) else ()
    contents = Contents(
        experiment=experiment,
        results=results,
        simulated=beside,
        missing=not_run.cells(experiment, results, left_out),
        bars=checks.bars(experiment, results, beside),
    )
    directory.mkdir(parents=True, exist_ok=True)
    measured = documents.document(
        "scale",
        started=_started(results),
        versions=provenance.versions(results),
        cells=[cell.brief() for cell in results] + [cell.json() for cell in beside],
        bars=contents.bars,
        config=experiment.model_dump(by_alias=True, mode="json"),
        seed=experiment.seed,
        speedup_by_nodes=provenance.speedups(results),
        quick=experiment.quick,
        cluster_machines=provenance.machines(results),
        not_run=[cell.json() for cell in contents.missing],
        directory=str(relative(directory)),
    )
    documents.write(measured, directory)
    documents.write(measured, latest)
    write_page(_page(contents, _draw(contents, directory / "pictures"), directory), directory)
    return Report(directory=directory, bars=list(contents.bars))


def _started(results: Sequence[Result]) -> datetime:
    return min(datetime.fromisoformat(cell.started) for cell in results)


def _draw(contents: Contents, directory: Path) -> list[Picture]:
    """Every picture; none where no cell came to its end."""
    experiment, results = contents.experiment, contents.results
    material = Material(
        rows=series(results),
        simulated=contents.simulated,
        is_published=published.is_repeated_by(experiment.ad_counter),
    )
    if not material.rows:
        return []
    return [
        Picture(title=picture.title, file=file, caption=_caption(picture, contents))
        for picture, file in pictures.draw(
            material, directory, provenance.circumstances(experiment, results)
        )
    ]


def _caption(picture: pictures.Picture, contents: Contents) -> str:
    beside = contents.simulated if picture.simulated else ()
    shown: list[Result | Simulated] = [*contents.results, *beside]
    caption = f"{picture.caption} {tables.less(shown)}{provenance.speed(contents.results)}"
    if not beside:
        return caption
    return f"{caption} Dashed and hollow is simulated.{simulated.note(beside)}"


def _page(contents: Contents, drawn: Sequence[Picture], directory: Path) -> Page:
    experiment, results = contents.experiment, contents.results
    speed = provenance.speed(results)
    sections = [
        Section(
            title="Bars",
            text=_introduction(contents),
            parts=[bars_table(contents.bars, f"What the run is held to. {speed}")],
        ),
        Section(title="Pictures", parts=drawn),
        Section(
            title="Figures",
            parts=[
                tables.transmission(experiment, results, contents.simulated),
                tables.times(experiment, results),
                tables.resources(experiment, results),
                *tables.rest(experiment, results),
            ],
        ),
        Section(title="Cells that did not come to their end", text=_failures(results)),
        Section(title="Cells whose deletion left something", text=_left(results)),
        Section(title="Cells that took longer than they count", text=_slow(results)),
        Section(
            title="Cells that were not run",
            parts=[not_run.table(contents.missing)] if contents.missing else [],
        ),
        Section(title="The rest of the evaluation", parts=_rest_of_the_evaluation(directory)),
        Section(
            title="Again",
            text=[
                "`python -m scale_tests experiments run experiment.yaml --out DIRECTORY`, with the "
                "`experiment.yaml` of this directory. `cells/` has every cell with all of its "
                "nodes, its versions and its machine, `scale.json` all figures."
            ],
        ),
    ]
    return Page(
        title=f"{experiment.title}, {_started(results).date().isoformat()}",
        sections=[section for section in sections if section.text or section.parts],
    )


def _introduction(contents: Contents) -> list[str]:
    results, missing = contents.results, len(contents.missing)
    part = f" of {len(results) + missing}" if missing else ""
    return [
        f"{len(results)}{part} cells, every one a PartisanCluster of real pods on "
        f"{provenance.machines_text(results)}; seed {contents.experiment.seed}. "
        f"{listed(provenance.versions(results))}.",
        *provenance.compression(results),
    ]


def _failures(results: Sequence[Result]) -> list[str]:
    return [
        f"{_name(cell)}: {cell.error or 'the counters of the nodes differ'}"
        for cell in results
        if not cell.converged
    ]


def _left(results: Sequence[Result]) -> list[str]:
    return [f"{_name(cell)}: {'; '.join(cell.left)}" for cell in results if cell.left]


def _name(cell: Result) -> str:
    return f"{cell.overlay}, {cell.synchronization}, {cell.nodes:,} nodes, trial {cell.trial}"


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


def _rest_of_the_evaluation(directory: Path) -> list[Link]:
    """The other pages that are there beside the report's directory."""
    pages = {name: directory.parent / name / "README.md" for name, _title in BESIDE}
    return [
        Link(title=title, file=pages[name])
        for name, title in BESIDE
        if name != directory.name and pages[name].is_file()
    ]
