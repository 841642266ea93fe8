"""From the runs to targets, tables and the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    is_exact,
    lasted,
    peak,
    run_of,
    settled,
)
from scale_tests.host.units import GIB
from scale_tests.measure.checks import Check, at_least, at_most
from scale_tests.measure.page import Table
from scale_tests.measure.tables import tabulated

MOST_GROWTH = 1.25
"""Growth of a bounded server's memory from the second quarter of a run to its last, at most."""

COLLAPSE = 4.0
"""Memory of the server without bounds over that of the bounded one, at least."""

_BOUNDS = (
    "With bounds a node does not read a connection while 1,000 messages wait for their receiver, "
    "so that TCP holds back the sender. A lane holds at most 8 MiB. The channel is monotonic: a "
    "newer state replaces one that still waits in the lane. The kernel has 32 KiB at either end, "
    "as nothing replaces a state that waits there. A server reads only the last of the waiting "
    "states of a client. The run without bounds removes this from every node, and changes nothing "
    f"else: the channel is not monotonic, and with `ERL_FLAGS` of `{NO_BOUNDS}` lanes and the "
    "receiver accept every message and every state is read, as in the published system."
)

_RUNS: dict[str, Callable[[Cell], str]] = {
    "run": lambda cell: run_of(cell).title,
    "time compression": lambda cell: f"{cell['speedup']:g}",
    "increments": lambda cell: f"{cell['increments_sum']:,}" if _ended(cell) else "-",
    "per node": lambda cell: f"{cell['increments']:,}",
    "joining, s": lambda cell: f"{cell['seconds_joining']:,.0f}",
    "run, s": lambda cell: f"{lasted(cell):,.0f}",
    "value": lambda cell: ", ".join(f"{v:,}" for v in cell.get("values", [])) or "-",
    "different replicas": lambda cell: f"{cell['digests'] - 1}" if _ended(cell) else "-",
    "payload, GiB": lambda cell: f"{cell['bytes_payload'] / GIB:.2f}" if _ended(cell) else "-",
}

_SERVERS: dict[str, Callable[[Cell], str]] = {
    "run": lambda cell: run_of(cell).title,
    "outcome": lambda cell: str(cell["outcome"]),
    "settled, MiB": lambda cell: f"{settled(cell):,.0f}",
    "peak, MiB": lambda cell: f"{peak(cell):,.0f}",
    "limit, MiB": lambda cell: f"{cell['memory_limit']:,.0f}",
    "growth": lambda cell: f"{growth(cell):.2f}",
    "answered, %": lambda cell: f"{answered_percent(cell):.0f}",
    "dropped": lambda cell: f"{dropped(cell):,}",
}


def checks(cells: Sequence[Cell]) -> list[Check]:
    """The targets of the runs that were made."""
    found = []
    bounded = [cell for cell in cells if cell["bounded"]]
    for cell in bounded:
        title, grown = run_of(cell).title, growth(cell)
        name = f"{title}: growth of the server's memory, last over second quarter"
        found += [
            Check(
                name=f"{title}: every node ends with the exact counter",
                value=cell["outcome"],
                bar="finished",
                ok=is_exact(cell),
            ),
            at_most(name, grown, MOST_GROWTH, shown=round(grown, 2)),
        ]
    single = next((cell for cell in bounded if cell["servers"] == 1), None)
    for cell in cells:
        if not cell["bounded"] and single:
            times = peak(cell) / peak(single)
            name = f"{run_of(cell).title}: the server's memory over that with bounds"
            found.append(at_least(name, times, COLLAPSE, shown=round(times, 1)))
    return found


def tables(cells: Sequence[Cell]) -> dict[str, Table]:
    """The runs, and their servers."""
    return {
        "Runs": tabulated(
            _RUNS,
            cells,
            "Nodes are processes of one machine (no pods). Increments are those of all nodes "
            "together, and how often each counts in the mean. Joining is from the start of the "
            "first node until the last has joined. Payload is what all nodes have sent of encoded "
            "counters; it, the value and the replicas that differ are known of runs that came to "
            "their end.",
        ),
        "Servers": tabulated(
            _SERVERS,
            cells,
            "Memory of the largest server, as proportional set size; settled is the median of "
            "the last quarter of the samples, growth that over the median of the second quarter. "
            "Answered: the samples, a second apart or as long as answers take, at which every "
            "server answered what it was asked over HTTP within five seconds. Dropped: messages "
            "that were not delivered, above all states whose place in a lane a newer one took.",
        ),
    }


def text(meta: Mapping[str, Any], cells: Sequence[Cell]) -> list[str]:
    """Paragraphs for the page of some runs, of which there is at least one."""
    planned = [Run(**run) for run in meta["config"]["runs"]]
    run = planned[0]
    missing = "; ".join(run.title for run in planned[len(cells) :])
    settings = (
        f"CLIENTS={run.clients} SPEEDUP={run.speedup:g} INCREMENTS={run.increments} "
        f"SERVER_CPUS={run.server_cpus:g} MEMORY_LIMIT={run.memory_limit:g}"
    )
    quick = "QUICK=1 " if meta["quick"] else ""
    return [
        "Nodes are processes of this one machine, not pods: each is a release as the image has it, "
        "on a loopback address of its own, with one scheduler. Each run has "
        f"{run.clients:,} clients, which are linked to one server each, and one server or four, "
        f"which are linked to each other. While they count, each server has {run.server_cpus:g} of "
        "a CPU for itself, and no more, as with a CPU limit of Kubernetes.",
        f"The ad counter runs with full states (`State`): every node counts {run.increments:,} "
        f"times in the mean, once every {INCREMENT_MS / 1000:g} s, and is sent and sends the whole "
        f"counter every {PROPAGATION_MS / 1000:g} s, both divided by the time compression of "
        f"{run.speedup:g}. Each client sends its server a state of as many counters as there are "
        "nodes, so that the server's work grows with the square of the clients and with the time "
        "compression.",
        *(f"{run_of(cell).title}: {ending(cell)}." for cell in cells),
        *([f"Not run, or incomplete: {missing}."] if missing else []),
        _BOUNDS,
        f"Again: `{quick}{settings} make bench-client-server OUT=DIRECTORY`. `{meta['name']}.json` "
        "has every sample; `python -m scale_tests client-server report --out DIRECTORY` writes "
        "this page again from it.",
    ]


def _ended(cell: Cell) -> bool:
    """Whether the run is complete, and all nodes reported their values."""
    return "digests" in cell
