"""From cells to checks and tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scale_tests.benches.verify.expected import (
    EXECUTIONS_WITHIN,
    FIGURES,
    MUTATED_3PC,
    PRINTED,
    ROWS,
    TITLES,
    UPSTREAM,
)
from scale_tests.benches.verify.plan import HOSTED, MUTATED
from scale_tests.measure.checks import Check, at_least, at_most, equal
from scale_tests.measure.page import Table

Cell = dict[str, Any]

RAW_PER_S = 50_000
HOSTED_PER_S = 5_000
TREE_SECONDS = 10
MEMORY_MIB = 256
OWN_EXECUTIONS = 10_000
SECONDS = 180


def checks(cells: Sequence[Cell]) -> list[Check]:
    """The targets, with the values found."""
    return [
        *_figures(cells),
        *_printed(cells),
        *_own(cells),
        *_replays(cells),
        *_speeds(cells),
    ]


def tables(cells: Sequence[Cell]) -> dict[str, Table]:
    """All tables by their titles."""
    return {
        "Commit protocols, 4 nodes, 1 broadcast: executions, and those that fail": figures(cells),
        "Counterexamples with the fewest faults": fewest(cells),
        "Models: random executions": models(cells),
        "Protocols of the runtime and the operator": own(cells),
        "Replays": replays(cells),
    }


def figures(cells: Sequence[Cell]) -> Table:
    """Executions and failures by scope and protocol."""
    return Table(
        head=("", *TITLES.values()),
        rows=[
            [title, *(_counts(_explored(cells, protocol, *row)) for protocol in TITLES)]
            for row, title in ROWS.items()
        ]
        + [
            [
                "upstream's tests, with its annotations: passed, failed",
                *(f"{passed}, {failed}" for passed, failed in UPSTREAM.values()),
            ]
        ],
    )


def fewest(cells: Sequence[Cell]) -> Table:
    """The smallest counterexamples of each exploration of all messages."""
    rows = [
        [
            _name(cell),
            cell["fewest"]["decisions"],
            cell["fewest"]["failing"],
            cell["fewest"]["classes"],
            f"{cell['executions_per_s']:,.0f}",
            f"{cell['memory_mb']:.0f}",
        ]
        for cell in _of(cells, "explore")
        if (cell["scope"], cell["order"]) == ("recursive", "distinct") and cell["fewest"]
    ]
    head = ("", "faults", "executions", "classes", "executions/s", "memory, MB")
    return Table(head=head, rows=[list(map(str, row)) for row in rows])


def models(cells: Sequence[Cell]) -> Table:
    """The campaigns, all seeds of a model in a row."""
    rows = []
    for model in dict.fromkeys(cell["model"] for cell in _of(cells, "check")):
        runs = [cell for cell in _of(cells, "check") if cell["model"] == model]
        lines = [found["lines"] for run in runs for found in run["counterexamples"][:1]]
        rows.append(
            [
                model,
                str(len(runs)),
                str(runs[0]["executions"]),
                str(sum(run["failed"] > 0 for run in runs)),
                f"{min(lines)} to {max(lines)}" if lines else "-",
            ]
        )
    head = ("model", "seeds", "executions each", "seeds with a counterexample", "lines")
    return Table(head=head, rows=rows)


def own(cells: Sequence[Cell]) -> Table:
    """Our protocols and their mutations."""
    return Table(
        head=("protocol", "mutation", "nodes", "distinct executions", "failing", "s"),
        rows=[
            [
                cell["protocol"],
                cell["mutation"] or "",
                str(cell["nodes"]),
                f"{cell['executions']:,}",
                f"{cell['failing']:,}",
                f"{cell['seconds']:.1f}",
            ]
            for cell in _of(cells, "own")
        ],
    )


def replays(cells: Sequence[Cell]) -> Table:
    """Replays by counterexample, OTP where it was found and OTP where it ran again."""
    return Table(
        head=("counterexample", "found on OTP", "replayed on OTP", "replays", "identical"),
        rows=[
            [cell["file"], cell["found_on"], cell["otp"], str(cell["times"]), str(cell["same"])]
            for cell in _of(cells, "replay")
        ],
    )


def _figures(cells: Sequence[Cell]) -> list[Check]:
    found = []
    for (protocol, scope, order), wanted in FIGURES.items():
        if cell := _explored(cells, protocol, scope, order):
            found.append(
                equal(f"{TITLES[protocol]}, {ROWS[scope, order]}", _counts(cell), _text(*wanted))
            )
    if cell := _explored(cells, "three_phase_commit", "recursive", "distinct", MUTATED):
        found.append(equal(f"3PC, {MUTATED}, all messages", _counts(cell), _text(*MUTATED_3PC)))
    for name in HOSTED:
        if cell := _explored(cells, name, "recursive", "distinct"):
            pure = FIGURES["two_phase_commit", "recursive", "distinct"]
            found.append(equal(f"{name}, all messages, as 2PC", _counts(cell), _text(*pure)))
    return found


def _printed(cells: Sequence[Cell]) -> list[Check]:
    found = []
    for model, limit in PRINTED.items():
        runs = [c for c in _of(cells, "check") if c["model"] == model]
        if not runs:
            continue
        lines = [min((f["lines"] for f in run["counterexamples"]), default=None) for run in runs]
        having = [n for n in lines if n is not None]
        found += [
            Check(
                name=f"{model}: counterexample within {EXECUTIONS_WITHIN} executions",
                value=f"{len(having)} of {len(runs)} seeds",
                bar="all",
                ok=len(having) == len(runs),
            ),
            at_most(f"{model}: lines, longest", max(having, default=None), limit),
        ]
    holding = [c for c in _of(cells, "check") if c["model"] not in PRINTED]
    return found + [equal(f"{c['model']}: failing", c["failed"], 0) for c in holding]


def _own(cells: Sequence[Cell]) -> list[Check]:
    found = []
    for cell in _of(cells, "own"):
        name: str = cell["protocol"]
        if cell["mutation"]:
            name = f"{name}, mutation `{cell['mutation']}`: caught"
            found.append(equal(name, cell["failing"] > 0, True))
        else:
            name = f"{name}: distinct executions without a violation"
            least = 1 if cell["quick"] else OWN_EXECUTIONS
            met = cell["failing"] == 0
            found.append(at_least(name, cell["executions"], least, also="0 failing", met=met))
    return found


def _replays(cells: Sequence[Cell]) -> list[Check]:
    runs = _of(cells, "replay")
    return [
        Check(
            name=f"replays on OTP {release} with the recorded digest, without a warning",
            value=f"{sum(run['same'] for run in of)} of {sum(run['times'] for run in of)}",
            bar="all",
            ok=all(run["same"] == run["times"] and not run["changed"] for run in of),
        )
        for release in dict.fromkeys(run["otp"] for run in runs)
        if (of := [run for run in runs if run["otp"] == release])
    ]


def _speeds(cells: Sequence[Cell]) -> list[Check]:
    found = []
    if raw := _explored(cells, "three_phase_commit", "raw", "distinct"):
        found.append(_rate("3PC raw: executions/s", raw, RAW_PER_S))
    for name in HOSTED:
        if hosted := _explored(cells, name, "recursive", "distinct"):
            found.append(_rate(f"{name}: executions/s", hosted, HOSTED_PER_S))
    if tree := _explored(cells, "cooperative_termination", "recursive", "distinct"):
        seconds = tree["seconds"]
        name = "CTP, all messages: seconds"
        found.append(at_most(name, seconds, TREE_SECONDS, shown=f"{seconds:.2f}"))
    if explored := _of(cells, "explore"):
        most = max(cell["memory_mb"] for cell in explored) * 1e6 / 2**20
        found.append(at_most("memory, MiB, most", most, MEMORY_MIB, shown=f"{most:.0f}"))
    for cell in _of(cells, "all"):
        seconds = cell["seconds"]
        name = "seconds for all, with both releases compiled"
        found.append(at_most(name, seconds, SECONDS, shown=f"{seconds:.0f}"))
    return found


def _rate(name: str, cell: Cell, limit: float) -> Check:
    rate = cell["executions_per_s"]
    return at_least(name, rate, limit, shown=f"{rate:,.0f}")


def _of(cells: Sequence[Cell], part: str) -> list[Cell]:
    return [cell for cell in cells if cell["part"] == part]


def _explored(
    cells: Sequence[Cell], protocol: str, scope: str, order: str, mutation: str | None = None
) -> Cell | None:
    wanted = (protocol, scope, order, mutation)
    for cell in _of(cells, "explore"):
        if (cell["protocol"], cell["scope"], cell["order"], cell["mutation"]) == wanted:
            return cell
    return None


def _counts(cell: Cell | None) -> str:
    return "-" if cell is None else _text(cell["executions"], cell["failing"])


def _text(executions: int, failing: int) -> str:
    return f"{executions:,}, {failing:,} failing"


def _name(cell: Cell) -> str:
    title = TITLES.get(cell["protocol"]) or str(cell["protocol"])
    return f"{title}, {cell['mutation']}" if cell["mutation"] else title
