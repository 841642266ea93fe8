"""The report of a run: JSON for scripts, Markdown and HTML with pictures for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from scale_tests.benches.experiments.simulated import Simulated
from scale_tests.cluster.kube import Json
from scale_tests.host.commands import relative
from scale_tests.measure import document as documents
from scale_tests.measure import drawing
from scale_tests.measure.cells import SLOW, Result
from scale_tests.measure.checks import Check
from scale_tests.measure.page import Link, Page, Picture, Section, bars_table, listed
from scale_tests.measure.page import write as write_page

OTHER_PAGES = {
    "scale": "The published evaluation from 32 nodes on, overlay by overlay",
    "thousand": "The published evaluation with 1,024 nodes, in real time",
    "churn": "Churn and partitions: nodes killed, replaced and cut off while they count",
    "client-server": "Client-server past 256 nodes: a server's memory with bounds and without",
}
"""The rest of the evaluation: the titles of its pages, by directories of results."""


@dataclass(frozen=True, kw_only=True)
class Contents:
    """The contents of a report."""

    experiment: Experiment
    results: Sequence[Result]
    """Of the cells that were run, of which there is at least one."""
    simulated: Sequence[Simulated]
    missing: Sequence[Json]
    checks: list[Check]

    @property
    def started(self) -> datetime:
        """The start of the first cell."""
        return min(datetime.fromisoformat(cell.started) for cell in self.results)


def write(
    experiment: Experiment,
    results: Sequence[Result],
    rows: Sequence[Simulated],
    directory: Path,
    *,
    left_out: Mapping[str, str],
    latest: Path,
) -> list[Check]:
    """Writes the report of a run, of which there is at least one cell; returns its checks.

    Simulated cells (`rows`) stand next to an experiment in which nodes count as often. `left_out`
    has why cells were not run, by their points' slugs. The report's JSON is written into `latest`,
    too, where each measurement's last result is.
    """
    comparable = rows if published.is_repeated_by(experiment.ad_counter) else ()
    contents = Contents(
        experiment=experiment,
        results=results,
        simulated=comparable,
        missing=not_run.cells(experiment, results, left_out),
        checks=checks.checks(experiment, results, comparable),
    )
    measured = documents.document(
        "scale",
        started=contents.started,
        versions=provenance.versions(results),
        cells=[cell.brief() for cell in results] + [cell.json() for cell in comparable],
        checks=contents.checks,
        config=experiment.model_dump(by_alias=True, mode="json"),
        seed=experiment.seed,
        speedup_by_nodes=provenance.compressions(results),
        quick=experiment.quick,
        cluster_machines=provenance.machines(results),
        not_run=contents.missing,
        directory=str(relative(directory)),
    )
    documents.write(measured, directory)
    documents.write(measured, latest)
    drawn = _draw(contents, directory / "pictures")
    write_page(_page(contents, drawn, directory), directory)
    return contents.checks


def _draw(contents: Contents, directory: Path) -> list[Picture]:
    """Every picture; none where no cell is complete."""
    experiment, results = contents.experiment, contents.results
    material = Material(
        cells=[cell for cell in results if cell.converged],
        simulated=contents.simulated,
        is_published=published.is_repeated_by(experiment.ad_counter),
    )
    if not material.cells:
        return []
    note = provenance.circumstances(experiment, results)
    return [
        replace(picture, caption=_caption(picture, contents))
        for picture in drawing.draw(pictures.PICTURES, material, directory, note=note)
    ]


def _caption(picture: Picture, contents: Contents) -> str:
    shows_simulated = picture.file.stem == pictures.WITH_SIMULATED
    rows = contents.simulated if shows_simulated else ()
    less = tables.less([*contents.results, *rows])
    hollow = f" Dashed and hollow is simulated.{simulated.note(rows)}" if rows else ""
    return f"{picture.caption} {less}{provenance.speed(contents.results)}{hollow}"


def _page(contents: Contents, drawn: Sequence[Picture], directory: Path) -> Page:
    experiment, results, missing = contents.experiment, contents.results, contents.missing
    figures = [
        tables.transmission(experiment, results, contents.simulated),
        *tables.others(experiment, results),
    ]
    speed = provenance.speed(results)
    sections = [
        Section(
            title="Targets",
            text=_introduction(contents),
            parts=[bars_table(contents.checks, f"The targets of the run. {speed}")],
        ),
        Section(title="Pictures", parts=drawn),
        Section(title="Figures", parts=figures),
        Section(
            title="Incomplete cells",
            text=[
                f"{_name(cell)}: {cell.error or 'the counters of the nodes differ'}"
                for cell in results
                if not cell.converged
            ],
        ),
        Section(
            title="Cells whose deletion left something",
            text=[f"{_name(cell)}: {'; '.join(cell.left)}" for cell in results if cell.left],
        ),
        Section(title="Cells that took longer than they count", text=_slow(results)),
        Section(
            title="Cells that were not run",
            parts=[not_run.table(experiment, missing)] if missing else [],
        ),
        Section(title="The rest of the evaluation", parts=_other_pages(directory)),
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
        title=f"{experiment.title}, {contents.started.date().isoformat()}",
        sections=sections,
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


def _name(cell: Result) -> str:
    return f"{cell.overlay}, {cell.synchronization}, {cell.nodes:,} nodes, trial {cell.trial}"


def _slow(results: Sequence[Result]) -> list[str]:
    """The cells in which nodes exchanged more than configured."""
    names = [
        f"{cell.overlay}, {cell.synchronization}, {cell.nodes:,} nodes ({cell.slowdown:.1f} times)"
        for cell in results
        if (cell.slowdown or 0) > SLOW
    ]
    if not names:
        return []
    return [
        f"{'; '.join(names)}. Nodes exchange until the run ends, so that these have sent more than "
        "in the configured time. Where the machine was too busy, a lower time compression gives it "
        "more time."
    ]


def _other_pages(directory: Path) -> list[Link]:
    """The other pages that are there next to the report's directory."""
    links = [
        Link(title=title, file=directory.parent / name / "README.md")
        for name, title in OTHER_PAGES.items()
        if name != directory.name
    ]
    return [link for link in links if link.file.is_file()]
