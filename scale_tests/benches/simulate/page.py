"""The page of a run: targets, growth of clusters, faults, the ad counter, the papers' pictures."""

from collections.abc import Mapping, Sequence
from typing import Any

from scale_tests.benches.simulate import curves, faults, report
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
    pictures = {picture.file.stem: picture for picture in drawn}
    elsewhere = (curves.EXPERIMENT, synchronization.EXPERIMENT, *faults.PICTURES)
    grown, counted = pictures.get(curves.EXPERIMENT), pictures.get(synchronization.EXPERIMENT)
    rows = synchronization.rows(figures)
    beyond = any(row.nodes > synchronization.LARGEST for row in rows)
    counter = [synchronization.NOTE, *([report.NOT_SIMULATED] if beyond else [])]
    tenth = " Clusters of a tenth of the size." if meta["quick"] else ""
    circumstances = (
        f"All figures are simulated, seed {meta['seed']}. {listed(meta['versions'])}; on "
        f"{hardware(meta['machine'])}, {meta['started'][:10]}.{tenth}"
    )
    checks = report.checks(figures, meta["seconds"])
    targets = [bars_table(checks)] if checks else []
    others = [picture for name, picture in pictures.items() if name not in elsewhere]
    sections = [
        Section(title="Targets", text=[circumstances], parts=targets),
        _section("The overlay", curves.NOTES, curves.table(curves.rows(figures)), grown),
        _section("The overlays compared", [curves.COMPARED_NOTE], curves.comparison(figures)),
        faults.section(figures, pictures),
        _section("The ad counter", counter, synchronization.table(rows), counted),
        _section("The ring", [curves.RING_NOTE], curves.ring(figures)),
        Section(title="The papers' experiments", parts=others),
        Section(title="What it took", parts=[report.took(meta["seconds"])]),
        Section(title="Again", text=[_again(meta)]),
    ]
    return Page(title=f"Simulated, {meta['started'][:10]}", sections=sections)


def _section(
    title: str, text: Sequence[str], table: Table, picture: Picture | None = None
) -> Section:
    """A table with its text and its picture, if it has rows."""
    parts: list[Part] = [picture, table] if picture else [table]
    return Section(title=title, text=text, parts=parts) if table.rows else Section()


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
