"""The page of a run in which clusters grew, or took faults: what that cost, by size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from scale_tests.results.bars import Bar
from scale_tests.results.page import (
    Page,
    Picture,
    Section,
    Table,
    bars_table,
    hardware,
    listed,
)
from scale_tests.results.page import write as write_page
from scale_tests.simulate import curves, faults, synchronization
from scale_tests.simulate.figure import Cell

NOT_SIMULATED = (
    "Only Aggregate is run beyond 1,024 nodes. In the other modes every replica has an entry for "
    "every node, so that 10,000 replicas have 10,000 x 10,000 of them: at some 50 bytes each 5 GB, "
    "and at 5 to 30 microseconds for each pair of nodes 500 to 3,000 CPU seconds for each interval "
    "of five seconds. What they transmit grows with the square of the nodes as long as all tell "
    "all, which the sizes up to 1,024 show."
)


def write(
    figures: Sequence[Cell],
    meta: Mapping[str, Any],
    bars: Sequence[Bar],
    pictures: Sequence[Path],
    directory: Path,
) -> Path | None:
    """Writes the page beside its pictures; None where no overlay was grown or took faults.

    `meta` is a document's, `pictures` are all that were drawn.
    """
    grown = curves.rows(figures)
    transmitted = synchronization.rows(figures)
    svgs = {file.stem: file for file in pictures if file.suffix == ".svg"}
    hit = faults.section(figures, svgs)
    if not grown and hit is None:
        return None
    sections = [
        Section(
            title="Bars",
            text=[
                f"All figures are simulated, seed {meta['seed']}. {listed(meta['versions'])}; on "
                f"{hardware(meta['machine'])}, {meta['started'][:10]}."
            ],
            parts=[bars_table(bars)],
        ),
    ]
    if grown:
        sections.append(
            Section(
                title="The overlay",
                text=[curves.NOTE, "Bandwidth, queues and processor time are not simulated."],
                parts=[
                    Picture(title="The overlay against its size", file=svgs[curves.EXPERIMENT]),
                    Table(head=curves.head(grown), rows=curves.lines(grown)),
                ],
            )
        )
    if hit is not None:
        sections.append(hit)
    if transmitted:
        sections.append(
            Section(
                title="The ad counter",
                text=[synchronization.NOTE, NOT_SIMULATED],
                parts=[
                    Picture(
                        title="Transmission of the ad counter",
                        file=svgs[synchronization.EXPERIMENT],
                    ),
                    Table(
                        head=synchronization.HEAD,
                        rows=[synchronization.columns(row) for row in transmitted],
                    ),
                ],
            )
        )
    sections.append(
        Section(
            title="What it took",
            parts=[
                Table(
                    head=("experiment", "nodes", "CPU seconds"),
                    rows=[
                        (each["experiment"], f"{each['nodes']:,}", f"{each['cpu_seconds']:,.0f}")
                        for each in meta["seconds"]
                    ],
                )
            ],
        )
    )
    title = "How a cluster grows, simulated" if grown else "What faults do, simulated"
    readme, _html = write_page(Page(title=title, sections=sections), directory)
    return readme
