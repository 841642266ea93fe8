"""The page of a run: its bars, how clusters grew, faults, the ad counter, the papers' pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scale_tests.benches.simulate import curves, faults
from scale_tests.benches.simulate.pictures import PICTURES
from scale_tests.benches.simulate.plan import FULL, plan
from scale_tests.measure import synchronization
from scale_tests.measure.bars import Bar
from scale_tests.measure.figure import Cell
from scale_tests.measure.page import Page, Picture, Section, Table, bars_table, hardware, listed
from scale_tests.measure.page import write as write_page

NOT_SIMULATED = (
    "Only Aggregate is run beyond 1,024 nodes. In the other modes every replica has an entry for "
    "every node, so that 10,000 replicas have 10,000 x 10,000 of them: at some 160 bytes each "
    "16 GB, and, by the square of the nodes, a hundred times the CPU seconds that 1,024 take. What "
    "they transmit grows with the square of the nodes as long as all tell all, which the sizes up "
    "to 1,024 show."
)


def write(
    figures: Sequence[Cell],
    meta: Mapping[str, Any],
    bars: Sequence[Bar],
    pictures: Sequence[Path],
    directory: Path,
) -> Path:
    """Writes the page of a run beside its pictures, and returns it in its Markdown form.

    `meta` is a document's, `pictures` are all that were drawn.
    """
    svgs = {file.stem: file for file in pictures if file.suffix == ".svg"}
    sections = (
        _held(meta, bars),
        _overlay(figures, svgs),
        faults.section(figures, svgs),
        _counter(figures, svgs),
        _others(svgs),
        _took(meta),
        Section(title="Again", text=[_again(meta)]),
    )
    title = f"Simulated, {meta['started'][:10]}"
    page = Page(title=title, sections=[section for section in sections if section is not None])
    directory.mkdir(parents=True, exist_ok=True)
    readme, _html = write_page(page, directory)
    return readme


def _held(meta: Mapping[str, Any], bars: Sequence[Bar]) -> Section:
    """The circumstances, and what the run is held to."""
    return Section(
        title="Bars",
        text=[
            f"All figures are simulated, seed {meta['seed']}. {listed(meta['versions'])}; on "
            f"{hardware(meta['machine'])}, {meta['started'][:10]}."
            + (" Clusters of a tenth of the size." if meta["quick"] else "")
        ],
        parts=[bars_table(bars)] if bars else [],
    )


def _overlay(figures: Sequence[Cell], svgs: Mapping[str, Path]) -> Section | None:
    """The overlay against its size; None where none was grown."""
    grown = curves.rows(figures)
    if not grown:
        return None
    return Section(
        title="The overlay",
        text=[curves.NOTE, "Bandwidth, queues and processor time are not simulated."],
        parts=[
            Picture(title="The overlay against its size", file=svgs[curves.EXPERIMENT]),
            Table(head=curves.head(grown), rows=curves.lines(grown)),
        ],
    )


def _counter(figures: Sequence[Cell], svgs: Mapping[str, Path]) -> Section | None:
    """What the ad counter transmits; None where none ran."""
    transmitted = synchronization.rows(figures)
    if not transmitted:
        return None
    beyond = any(row.nodes > synchronization.LARGEST for row in transmitted)
    return Section(
        title="The ad counter",
        text=[synchronization.NOTE, *([NOT_SIMULATED] if beyond else [])],
        parts=[
            Picture(title="Transmission of the ad counter", file=svgs[synchronization.EXPERIMENT]),
            Table(
                head=synchronization.HEAD,
                rows=[synchronization.columns(row) for row in transmitted],
            ),
        ],
    )


def _others(svgs: Mapping[str, Path]) -> Section | None:
    """The pictures that no other section has, of the papers' experiments."""
    elsewhere = {curves.EXPERIMENT, synchronization.EXPERIMENT, *faults.PICTURES}
    drawn = [
        Picture(title=f"Simulated: {picture.title}", file=svgs[picture.name])
        for picture in PICTURES
        if picture.name in svgs and picture.name not in elsewhere
    ]
    return Section(title="The papers' experiments", parts=drawn) if drawn else None


def _took(meta: Mapping[str, Any]) -> Section:
    """The processor time of each experiment."""
    rows = [
        (each["experiment"], f"{each['nodes']:,}", f"{each['cpu_seconds']:,.0f}")
        for each in meta["seconds"]
    ]
    return Section(
        title="What it took", parts=[Table(head=("experiment", "nodes", "CPU seconds"), rows=rows)]
    )


def _again(meta: Mapping[str, Any]) -> str:
    """How the run is repeated. `config` has its jobs, of which `--most` has left out some."""
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
