"""The report of a run: JSON for scripts, Markdown and HTML with pictures for people."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from scale_tests.benches.experiments import checks, comparison, pictures, provenance, tables
from scale_tests.benches.experiments.comparison import Simulated
from scale_tests.benches.experiments.drawing import Material
from scale_tests.benches.experiments.experiment import Experiment
from scale_tests.cluster.kube import Json
from scale_tests.host.commands import relative
from scale_tests.host.documents import data_of
from scale_tests.measure import drawing
from scale_tests.measure.bench import NoReport, Session
from scale_tests.measure.cells import SLOW, Result
from scale_tests.measure.checks import Check
from scale_tests.measure.page import Page, Picture, Section, bars_table, listed

_TEXT: Mapping[str, str] = data_of(__file__)


@dataclass(frozen=True, kw_only=True)
class Report(NoReport):
    """A run, of which there is at least one cell; the report of its benchmark.

    It has no tables for the terminal, which has seen each cell.
    """

    experiment: Experiment
    results: Sequence[Result]
    """Of the cells that were run."""

    rows: Sequence[Simulated] = ()
    """Simulated cells, which stand next to an experiment in which nodes count as often."""

    left_out: Mapping[str, str]
    """Why cells were not run, by their points' slugs."""

    @property
    def is_published(self) -> bool:
        """Whether the published evaluation is repeated."""
        return comparison.is_repeated_by(self.experiment.ad_counter)

    @property
    def simulated(self) -> Sequence[Simulated]:
        """The simulated cells that compare."""
        return self.rows if self.is_published else ()

    @property
    def missing(self) -> list[Json]:
        """The cells that were not run."""
        return tables.not_run(self.experiment, self.results, self.left_out)

    def checks(self, _cells: Sequence[Any]) -> list[Check]:
        """The targets."""
        return checks.checks(self.experiment, self.results, self.simulated)

    def draw(self, _cells: Sequence[Any], directory: Path) -> list[Picture]:
        """Every picture; none where no cell is complete."""
        whole = [cell for cell in self.results if cell.converged]
        if not whole:
            return []
        material = Material(cells=whole, simulated=self.simulated, is_published=self.is_published)
        note = provenance.circumstances(self.experiment, self.results)
        drawn = drawing.draw(pictures.PICTURES, material, directory / "pictures", note=note)
        return [replace(picture, caption=self._caption(picture)) for picture in drawn]

    def page(self, meta: Mapping[str, Any], cells: Sequence[Any], drawn: Sequence[Picture]) -> Page:
        """The page."""
        experiment, results = self.experiment, self.results
        speed = provenance.speed(results)
        figures = tables.transmission(experiment, results, self.simulated)
        incomplete = [
            f"{_name(cell)}: {cell.error or 'the counters of the nodes differ'}"
            for cell in results
            if not cell.converged
        ]
        left = [f"{_name(cell)}: {'; '.join(cell.left)}" for cell in results if cell.left]
        not_run = [tables.not_run_table(experiment, self.missing)] if self.missing else []
        targets = bars_table(self.checks(cells), f"The targets of the run. {speed}")
        return Page(
            title=f"{experiment.title}, {meta['started'][:10]}",
            sections=[
                Section(title="Targets", text=self._introduction(), parts=[targets]),
                Section(title="Pictures", parts=drawn),
                Section(title="Figures", parts=[figures, *tables.others(experiment, results)]),
                Section(title="Incomplete cells", text=incomplete),
                Section(title="Cells whose deletion left something", text=left),
                Section(title="Cells that took longer than they count", text=_slow(results)),
                Section(title="Cells that were not run", parts=not_run),
                Section(title="Again", text=[_TEXT["again"]]),
            ],
        )

    def _caption(self, picture: Picture) -> str:
        rows = self.simulated if picture.file.stem == pictures.WITH_SIMULATED else ()
        less = tables.less([*self.results, *rows])
        hollow = f" Dashed and hollow is simulated.{comparison.note(rows)}" if rows else ""
        return f"{picture.caption} {less}{provenance.speed(self.results)}{hollow}"

    def _introduction(self) -> list[str]:
        results, missing = self.results, len(self.missing)
        part = f" of {len(results) + missing}" if missing else ""
        cells = _TEXT["cells"].format(
            count=f"{len(results)}{part}",
            machines=provenance.machines_text(results),
            seed=self.experiment.seed,
            versions=listed(provenance.versions(results)),
        )
        return [cells, *provenance.compression(results)]


def conclude(session: Session, found: Report) -> int:
    """Writes all of a run into its directory; returns the exit status."""
    experiment, results = found.experiment, found.results
    started = min(datetime.fromisoformat(cell.started) for cell in results)
    session = replace(session, started=started, quick=experiment.quick)
    return session.reported(found).conclude(
        [cell.brief() for cell in results] + [asdict(cell) for cell in found.simulated],
        versions=provenance.versions(results),
        config=experiment.model_dump(by_alias=True, mode="json"),
        seed=experiment.seed,
        speedup_by_nodes=provenance.compressions(results),
        cluster_machines=provenance.machines(results),
        not_run=found.missing,
        directory=str(relative(session.directory)),
    )


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
