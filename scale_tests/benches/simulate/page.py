"""The page of a run: targets, growth of clusters, faults, the ad counter, the papers' pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scale_tests.benches.simulate import curves, faults, report
from scale_tests.benches.simulate.plan import FULL, plan
from scale_tests.benches.simulate.plots import PLOTS
from scale_tests.measure import synchronization
from scale_tests.measure.checks import Check
from scale_tests.measure.figure import Cell
from scale_tests.measure.page import Page, Picture, Section, bars_table, hardware, listed
from scale_tests.measure.page import write as write_page

NOT_SIMULATED = (
    "Only Aggregate is run beyond 1,024 nodes. In the other modes every replica has an entry for "
    "every node, so that 10,000 replicas have 10,000 x 10,000 of them: at some 160 bytes each "
    "16 GB, and, by the square of the nodes, a hundred times the CPU seconds that 1,024 take. "
    "Their traffic grows with the square of the nodes as long as every node sends to every other, "
    "which the sizes up to 1,024 show."
)


def write(
    figures: Sequence[Cell],
    meta: Mapping[str, Any],
    checks: Sequence[Check],
    svgs: Mapping[str, Path],
    directory: Path,
) -> Path:
    """Writes the page of a run with the pictures in `directory`; returns its Markdown file.

    `meta` is a document's.
    """
    sections = (
        _targets(meta, checks),
        _overlay(figures, svgs),
        faults.section(figures, svgs),
        _counter(figures, svgs),
        _others(svgs),
        Section(title="What it took", parts=[report.took(meta)]),
        Section(title="Again", text=[_again(meta)]),
    )
    page = Page(
        title=f"Simulated, {meta['started'][:10]}",
        sections=[section for section in sections if section.text or section.parts],
    )
    directory.mkdir(parents=True, exist_ok=True)
    readme, _html = write_page(page, directory)
    return readme


def _targets(meta: Mapping[str, Any], checks: Sequence[Check]) -> Section:
    """The circumstances, and the targets."""
    tenth = " Clusters of a tenth of the size." if meta["quick"] else ""
    return Section(
        title="Targets",
        text=[
            f"All figures are simulated, seed {meta['seed']}. {listed(meta['versions'])}; on "
            f"{hardware(meta['machine'])}, {meta['started'][:10]}.{tenth}"
        ],
        parts=[bars_table(checks)] if checks else [],
    )


def _overlay(figures: Sequence[Cell], svgs: Mapping[str, Path]) -> Section:
    """The overlay against its size."""
    grown = curves.rows(figures)
    if not grown:
        return Section()
    picture = Picture(title="The overlay against its size", file=svgs[curves.EXPERIMENT])
    return Section(
        title="The overlay",
        text=[curves.NOTE, "Bandwidth, queues and processor time are not simulated."],
        parts=[picture, curves.table(grown)],
    )


def _counter(figures: Sequence[Cell], svgs: Mapping[str, Path]) -> Section:
    """The transmission of the ad counter."""
    transmitted = synchronization.rows(figures)
    if not transmitted:
        return Section()
    beyond = any(row.nodes > synchronization.LARGEST for row in transmitted)
    picture = Picture(title="Transmission of the ad counter", file=svgs[synchronization.EXPERIMENT])
    return Section(
        title="The ad counter",
        text=[synchronization.NOTE, *([NOT_SIMULATED] if beyond else [])],
        parts=[picture, synchronization.table(transmitted)],
    )


def _others(svgs: Mapping[str, Path]) -> Section:
    """The pictures of the papers' experiments: those that no other section has."""
    elsewhere = {curves.EXPERIMENT, synchronization.EXPERIMENT, *faults.PICTURES}
    drawn = [
        Picture(title=f"Simulated: {plot.title}", file=svgs[plot.name])
        for plot in PLOTS
        if plot.name in svgs and plot.name not in elsewhere
    ]
    return Section(title="The papers' experiments", parts=drawn)


def _again(meta: Mapping[str, Any]) -> str:
    """The command that repeats the run; `config` has its jobs, without those beyond `--most`."""
    jobs = meta["config"]
    experiments = list(dict.fromkeys(job["experiment"] for job in jobs))
    every = {job.experiment for job in FULL}
    only = "" if set(experiments) == every else f" --only {' '.join(experiments)}"
    largest = max(job["nodes"] for job in jobs)
    planned = plan(quick=meta["quick"], seed=meta["seed"], only=experiments)
    most = f" --most {largest}" if any(job.nodes > largest for job in planned) else ""
    quick = " --quick" if meta["quick"] else ""
    return (
        f"`python -m scale_tests simulate run{quick} --seed {meta['seed']}{only}{most} "
        f"--out DIRECTORY`. `{meta['name']}.json` has every figure."
    )
