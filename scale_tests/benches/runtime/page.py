"""What came out, for the terminal and as a page in Markdown."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from scale_tests.benches.runtime import report
from scale_tests.measure.bars import Bar
from scale_tests.measure.page import Page, Section, Table, bars_table

Cell = dict[str, Any]


def tables(cells: Sequence[Cell], weights: Sequence[Cell]) -> dict[str, Table]:
    """All tables that have rows, by their titles."""
    found: list[tuple[str, Sequence[str], Sequence[Sequence[str]]]] = [
        ("Throughput: ours / raw / disterl", *report.throughput_rows(cells)),
        (
            "The release's flags, 16 lanes: throughput over that with stock flags",
            ("RTT", "payload", "ratio"),
            report.flag_rows(cells),
        ),
        (
            "A 100-byte ping beside 8 MB messages on another channel",
            ("RTT", "system", "p99 idle, ms", "p99 loaded, ms", "growth", "bulk, MB/s"),
            report.ping_rows(cells),
        ),
        (
            "The cost of a send",
            ("connections", "destinations", "ns"),
            _medians(cells, "dispatch", ("connections", "destinations"), "ns_per_send"),
        ),
        (
            "Ways to answer a call, requests a second",
            ("state, words", "callers", "cost, us", "way", "requests/s"),
            _medians(
                cells, "reply", ("state_words", "callers", "cost_us", "way"), "requests_per_s"
            ),
        ),
        ("Footprint, MiB", ("process", "how many", "PSS", "private"), _weight_rows(weights)),
        ("Of what a node consists, MiB of PSS", ("part", "MiB"), _part_rows(weights)),
    ]
    return {title: Table(head=head, rows=rows) for title, head, rows in found if rows}


def show(console: Console, cells: Sequence[Cell], weights: Sequence[Cell]) -> None:
    """Prints the tables."""
    for title, table in tables(cells, weights).items():
        console.print(report.table(title, table.head, table.rows))


def page(meta: Cell, cells: Sequence[Cell], weights: Sequence[Cell], bars: Sequence[Bar]) -> Page:
    """The page of a run."""
    host = meta["machine"]
    extent = "`QUICK=1`: fewer points and repetitions" if meta["quick"] else "full"
    circumstances = (
        f"{extent}; {meta['config']['repetitions']} repetitions, {meta['seconds']} s. "
        f"OTP {meta['versions']['otp']}, {host['cpus']} CPUs ({host['cpu_model']}), kernel "
        f"{host['kernel']}, source {meta['versions']['source']}."
    )
    sections = [Section(text=[circumstances])]
    if bars:
        held = bars_table(bars, "What was found is a median, with the least and the largest value.")
        sections.append(Section(title="Bars", parts=[held]))
    sections += [
        Section(title=title, parts=[table]) for title, table in tables(cells, weights).items()
    ]
    return Page(title=f"`make bench-runtime`, {meta['started'][:16]} UTC", sections=sections)


def _medians(
    cells: Sequence[Cell], experiment: str, keys: Sequence[str], figure: str
) -> list[list[str]]:
    found: dict[tuple[Any, ...], list[float]] = {}
    for cell in cells:
        if cell["experiment"] == experiment:
            found.setdefault(tuple(cell[key] for key in keys), []).append(cell[figure])
    return [
        [*(str(value) for value in key), f"{statistics.median(values):.0f}"]
        for key, values in found.items()
    ]


def _weight_rows(weights: Sequence[Cell]) -> list[list[str]]:
    return [
        [w["what"], str(w["processes"]), f"{w['pss_mib']:.1f}", f"{w['private_mib']:.1f}"]
        for w in weights
    ]


def _part_rows(weights: Sequence[Cell]) -> list[list[str]]:
    return [
        [part, f"{mib:.1f}"] for weight in weights[-1:] for part, mib in weight["parts_mib"].items()
    ]
