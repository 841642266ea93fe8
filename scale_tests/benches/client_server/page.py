"""The page of the runs: what was run, how each ended, what the bounds are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from scale_tests.benches.client_server.experiment import (
    INCREMENT_MS,
    NO_BOUNDS,
    PROPAGATION_MS,
    Cell,
    Run,
)
from scale_tests.benches.client_server.figures import (
    answered_percent,
    dropped,
    ending,
    growth,
    lasted,
    peak,
    run_of,
    settled,
)
from scale_tests.host.units import GIB
from scale_tests.measure.bars import Bar
from scale_tests.measure.page import Page, Picture, Section, Table, bars_table, hardware, listed

_BOUNDS = (
    "With bounds a node does not read a connection while 1,000 messages wait for their receiver, "
    "so that TCP holds back the sender; a lane takes 8 MiB; the channel is monotonic, so that a "
    "newer state replaces one that still waits in the lane, and the kernel is given 32 KiB at "
    "either end, for what waits there is replaced by nothing; and of the states of one client that "
    "wait at a server it reads the last one only."
)

_NO_BOUNDS = (
    "In the run without bounds this is removed from every node, and nothing else is changed: the "
    "channel is not monotonic, and with `ERL_FLAGS` of "
    f"`{NO_BOUNDS}` lanes and the receiver take whatever comes and every state is read, as the "
    "published system had it."
)


def page(
    meta: Mapping[str, Any], cells: Sequence[Cell], bars: Sequence[Bar], drawn: Sequence[Picture]
) -> Page:
    """The page of some runs, of which there is at least one, with their pictures."""
    planned = [Run(**run) for run in meta["config"]["runs"]]
    return Page(
        title=f"Client-server, {cells[0]['clients']:,} clients, {meta['started'][:10]}",
        sections=[
            Section(text=_introduction(meta, cells[0])),
            Section(title="How it ended", text=_endings(cells, planned), parts=[*drawn]),
            Section(title="Bars", parts=[bars_table(bars, _bars_caption(cells[0]))]),
            Section(title="Figures", parts=[_runs_table(cells), _servers_table(cells)]),
            Section(title="What was removed", text=[_BOUNDS, _NO_BOUNDS]),
            Section(title="Again", text=_again(meta, planned[0])),
        ],
    )


def _introduction(meta: Mapping[str, Any], cell: Cell) -> list[str]:
    run = run_of(cell)
    return [
        f"{hardware(meta['machine'])}. {listed(meta['versions'])}."
        + (" Shortened (`QUICK=1`)." if meta["quick"] else ""),
        "Nodes are processes of this one machine, not pods: each is a release as the image has it, "
        "on a loopback address of its own, with one scheduler. Each run has "
        f"{run.clients:,} clients, which are linked to one server each, and one server or four, "
        f"which are linked to each other. While they count, each server has {run.server_cpus:g} of "
        "a CPU for itself, and no more, as with a CPU limit of Kubernetes.",
        f"The ad counter runs with full states (`State`): every node counts {run.increments:,} "
        f"times in the mean, once every {INCREMENT_MS / 1000:g} s, and is sent and sends the whole "
        f"counter every {PROPAGATION_MS / 1000:g} s, both divided by the speedup of "
        f"{run.speedup:g}. A server is sent a state of as many counters as there are nodes by each "
        "of its clients, so that its work grows with the square of the clients and with the "
        "speedup.",
    ]


def _endings(cells: Sequence[Cell], planned: Sequence[Run]) -> list[str]:
    said = [f"{run_of(cell).title}: {ending(cell)}." for cell in cells]
    if len(cells) < len(planned):
        missing = "; ".join(run.title for run in planned[len(cells) :])
        said.append(f"Not run, or not to its end: {missing}.")
    return said


def _bars_caption(cell: Cell) -> str:
    return (
        f"What the runs are held to. Speedup {cell['speedup']:g}; nodes are processes. Growth is "
        "the median of the last quarter of the samples over that of the second quarter."
    )


def _runs_table(cells: Sequence[Cell]) -> Table:
    return Table(
        caption=(
            "Increments are those of all nodes together, and how often each counts in the mean. "
            "Joining is from the start of the first node until the last has joined. Payload is "
            "what all nodes have sent of encoded counters; it, the value and the replicas that "
            "differ are known of runs that came to their end."
        ),
        head=(
            "run",
            "servers",
            "clients",
            "speedup",
            "bounds",
            "increments",
            "per node",
            "joining, s",
            "run, s",
            "value",
            "different replicas",
            "payload, GiB",
        ),
        rows=[_run_row(cell) for cell in cells],
    )


def _run_row(cell: Cell) -> tuple[str, ...]:
    run = run_of(cell)
    return (
        run.title,
        f"{run.servers}",
        f"{run.clients:,}",
        f"{run.speedup:g}",
        "yes" if run.bounded else "removed",
        f"{cell['increments_sum']:,}" if "increments_sum" in cell else "-",
        f"{run.increments:,}",
        f"{cell['seconds_joining']:,.0f}",
        f"{lasted(cell):,.0f}",
        ", ".join(f"{value:,}" for value in cell.get("values", [])) or "-",
        f"{cell['digests'] - 1}" if "digests" in cell else "-",
        f"{cell['bytes_payload'] / GIB:.2f}" if "bytes_payload" in cell else "-",
    )


def _servers_table(cells: Sequence[Cell]) -> Table:
    return Table(
        caption=(
            "Memory of the largest server, as proportional set size. Answered: the looks, a second "
            "apart or as long as answers take, at which every server answered what it was asked "
            "over HTTP within five seconds. Dropped: messages that were not delivered, above all "
            "states whose place in a lane a newer one took."
        ),
        head=(
            "run",
            "outcome",
            "median of the last quarter, MiB",
            "peak, MiB",
            "limit, MiB",
            "growth",
            "answered, %",
            "dropped",
        ),
        rows=[
            (
                run_of(cell).title,
                cell["outcome"],
                f"{settled(cell):,.0f}",
                f"{peak(cell):,.0f}",
                f"{cell['memory_limit']:,.0f}",
                f"{growth(cell):.2f}",
                f"{answered_percent(cell):.0f}",
                f"{dropped(cell):,}",
            )
            for cell in cells
        ],
    )


def _again(meta: Mapping[str, Any], run: Run) -> list[str]:
    settings = (
        f"CLIENTS={run.clients} SPEEDUP={run.speedup:g} INCREMENTS={run.increments} "
        f"SERVER_CPUS={run.server_cpus:g} MEMORY_LIMIT={run.memory_limit:g}"
    )
    quick = "QUICK=1 " if meta["quick"] else ""
    return [
        f"`{quick}{settings} make bench-client-server OUT=DIRECTORY`. `{meta['name']}.json` has "
        "every sample; `python -m scale_tests client-server report --out DIRECTORY` writes this "
        "page again from it."
    ]
