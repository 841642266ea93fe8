"""The page of a run: targets, growth of clusters, faults, the ad counter, the papers' pictures."""

from collections.abc import Mapping, Sequence
from typing import Any

from scale_tests.benches.simulate import curves, faults, report, ring
from scale_tests.benches.simulate.plan import FULL, plan
from scale_tests.measure import synchronization
from scale_tests.measure.figure import Cell
from scale_tests.measure.page import (
    Page,
    Part,
    Picture,
    Section,
    Table,
    bars_table,
    hardware,
    listed,
)


def page(meta: Mapping[str, Any], cells: Sequence[Any], drawn: Sequence[Picture]) -> Page:
    """The page of a run, with its pictures."""
    figures = [Cell(**cell) for cell in cells]
    rest = {picture.file.stem: picture for picture in drawn}
    sections = [
        _targets(meta, figures),
        _overlay(figures, rest),
        _tables("The overlays compared", curves.COMPARED_NOTE, curves.comparison(figures)),
        faults.section(figures, rest),
        _counter(figures, rest),
        _tables("The ring", ring.NOTE, ring.table(figures)),
    ]
    elsewhere = (curves.EXPERIMENT, synchronization.EXPERIMENT, *faults.PICTURES)
    others = [picture for name, picture in rest.items() if name not in elsewhere]
    sections += [
        Section(title="The papers' experiments", parts=others),
        Section(title="What it took", parts=[report.took(meta["seconds"])]),
        Section(title="Again", text=[_again(meta)]),
    ]
    return Page(title=f"Simulated, {meta['started'][:10]}", sections=sections)


def _targets(meta: Mapping[str, Any], figures: Sequence[Cell]) -> Section:
    """The circumstances, and the targets."""
    tenth = " Clusters of a tenth of the size." if meta["quick"] else ""
    checks = report.checks(figures, meta["seconds"])
    return Section(
        title="Targets",
        text=[
            f"All figures are simulated, seed {meta['seed']}. {listed(meta['versions'])}; on "
            f"{hardware(meta['machine'])}, {meta['started'][:10]}.{tenth}"
        ],
        parts=[bars_table(checks)] if checks else [],
    )


def _section(title: str, text: Sequence[str], parts: Sequence[Part]) -> Section:
    """A section, which is empty without parts."""
    return Section(title=title, text=text, parts=parts) if parts else Section()


def _overlay(figures: Sequence[Cell], drawn: Mapping[str, Picture]) -> Section:
    """The overlay against its size."""
    grown = curves.rows(figures)
    text = [curves.NOTE, "Bandwidth, queues and processor time are not simulated."]
    parts: list[Part] = [drawn[curves.EXPERIMENT], curves.table(grown)] if grown else []
    return _section("The overlay", text, parts)


def _counter(figures: Sequence[Cell], drawn: Mapping[str, Picture]) -> Section:
    """The transmission of the ad counter."""
    rows = synchronization.rows(figures)
    beyond = any(row.nodes > synchronization.LARGEST for row in rows)
    text = [synchronization.NOTE, *([report.NOT_SIMULATED] if beyond else [])]
    parts: list[Part] = (
        [drawn[synchronization.EXPERIMENT], synchronization.table(rows)] if rows else []
    )
    return _section("The ad counter", text, parts)


def _tables(title: str, note: str, table: Table) -> Section:
    """A table with its note, if it has rows."""
    return _section(title, [note], [table] if table.rows else [])


def _again(meta: Mapping[str, Any]) -> str:
    """The command that repeats the run; `config` has its jobs, without those beyond `--most`."""
    jobs = meta["config"]
    experiments = list(dict.fromkeys(job["experiment"] for job in jobs))
    every = {job.experiment for job in FULL}
    only = "" if set(experiments) == every else f" --only {' '.join(experiments)}"
    largest = max(job["nodes"] for job in jobs)
    planned = plan(quick=meta["quick"], seed=meta["seed"], only=experiments)
    most = f" --most {largest}" if any(job.nodes > largest for job in planned) else ""
    quick = "QUICK=1 " if meta["quick"] else ""
    return (
        f"`{quick}python -m scale_tests simulate run --seed {meta['seed']}{only}{most} "
        f"--out DIRECTORY`. `{meta['name']}.json` has every figure."
    )
