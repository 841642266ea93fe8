"""The report of a run: JSON for scripts, Markdown and HTML with pictures for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from scale_tests.benches.experiments import (
    checks,
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
from scale_tests.host.documents import data_of
from scale_tests.measure import drawing
from scale_tests.measure.bench import Session
from scale_tests.measure.cells import SLOW, Result
from scale_tests.measure.checks import Check
from scale_tests.measure.page import Page, Picture, Section, Table, bars_table, listed

_TEXT: Mapping[str, str] = data_of(__file__)


@dataclass(frozen=True, kw_only=True)
class Report:
    """A run, of which there is at least one cell; the report of its benchmark."""

    experiment: Experiment
    results: Sequence[Result]
    """Of the cells that were run."""

    rows: Sequence[Simulated] = ()
    """Simulated cells, which stand next to an experiment in which nodes count as often."""

    left_out: Mapping[str, str]
    """Why cells were not run, by their points' slugs."""

    directory: Path

    @property
    def simulated(self) -> Sequence[Simulated]:
        """The simulated cells that compare."""
        return self.rows if published.is_repeated_by(self.experiment.ad_counter) else ()

    @property
    def missing(self) -> list[Json]:
        """The cells that were not run."""
        return tables.not_run(self.experiment, self.results, self.left_out)

    def checks(self, _cells: Sequence[Any]) -> list[Check]:
        """The targets."""
        return checks.checks(self.experiment, self.results, self.simulated)

    def tables(self, _cells: Sequence[Any]) -> dict[str, Table]:
        """None for the terminal, which has seen each cell."""
        return {}

    def draw(self, _cells: Sequence[Any], directory: Path) -> list[Picture]:
        """Every picture; none where no cell is complete."""
        return _draw(self, directory / "pictures")

    def page(self, meta: Mapping[str, Any], cells: Sequence[Any], drawn: Sequence[Picture]) -> Page:
        """The page."""
        title = f"{self.experiment.title}, {meta['started'][:10]}"
        return Page(title=title, sections=_sections(self, self.checks(cells), drawn))


def conclude(session: Session, found: Report) -> int:
    """Writes all of a run into its directory; returns the exit status."""
    experiment, results = found.experiment, found.results
    session.options.out = found.directory
    started = min(datetime.fromisoformat(cell.started) for cell in results)
    session = replace(session, started=started, quick=experiment.quick)
    return session.reported(found).conclude(
        [cell.brief() for cell in results] + [cell.json() for cell in found.simulated],
        versions=provenance.versions(results),
        config=experiment.model_dump(by_alias=True, mode="json"),
        seed=experiment.seed,
        speedup_by_nodes=provenance.compressions(results),
        cluster_machines=provenance.machines(results),
        not_run=found.missing,
        directory=str(relative(found.directory)),
    )


def _draw(contents: Report, directory: Path) -> list[Picture]:
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


def _caption(picture: Picture, contents: Report) -> str:
    shows_simulated = picture.file.stem == pictures.WITH_SIMULATED
    rows = contents.simulated if shows_simulated else ()
    less = tables.less([*contents.results, *rows])
    hollow = f" Dashed and hollow is simulated.{simulated.note(rows)}" if rows else ""
    return f"{picture.caption} {less}{provenance.speed(contents.results)}{hollow}"


def _sections(contents: Report, found: Sequence[Check], drawn: Sequence[Picture]) -> list[Section]:
    experiment, results, missing = contents.experiment, contents.results, contents.missing
    figures = [
        tables.transmission(experiment, results, contents.simulated),
        *tables.others(experiment, results),
    ]
    speed = provenance.speed(results)
    return [
        Section(
            title="Targets",
            text=_introduction(contents),
            parts=[bars_table(found, f"The targets of the run. {speed}")],
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
            parts=[tables.not_run_table(experiment, missing)] if missing else [],
        ),
        Section(title="Again", text=[_TEXT["again"]]),
    ]


def _introduction(contents: Report) -> list[str]:
    results, missing = contents.results, len(contents.missing)
    part = f" of {len(results) + missing}" if missing else ""
    cells = _TEXT["cells"].format(
        count=f"{len(results)}{part}",
        machines=provenance.machines_text(results),
        seed=contents.experiment.seed,
        versions=listed(provenance.versions(results)),
    )
    return [cells, *provenance.compression(results)]


def _name(cell: Result) -> str:
    return f"{cell.overlay}, {cell.synchronization}, {cell.nodes:,} nodes, trial {cell.trial}"


def _slow(results: Sequence[Result]) -> list[str]:
    """The cells in which nodes exchanged more than configured."""
    names = [
        f"{cell.overlay}, {cell.synchronization}, {cell.nodes:,} nodes ({cell.slowdown:.1f} times)"
        for cell in results
        if (cell.slowdown or 0) > SLOW
    ]
    return [_TEXT["slow"].format(cells="; ".join(names))] if names else []
