"""From cells to checks, tables and diagrams, and the tables of docs/evaluation/verification.md."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from scale_tests.benches.verify.plan import (
    ALL_MESSAGES,
    EXECUTIONS_WITHIN,
    FIGURES,
    HOSTED,
    MUTATED,
    MUTATED_3PC,
    PRINTED,
    ROWS,
    TITLES,
    UPSTREAM,
)
from scale_tests.benches.verify.runner import SCRIPT
from scale_tests.host.commands import ROOT, capture
from scale_tests.host.documents import data_of, with_part
from scale_tests.measure.checks import Check, at_least, at_most, equal, every
from scale_tests.measure.page import Picture, Table, markdown_table
from scale_tests.measure.spread import Cell, having
from scale_tests.measure.tables import forms, tabulated

DOCUMENT = ROOT / "docs" / "evaluation" / "verification.md"

_COLUMNS = data_of(__file__)
RAW_PER_S = 50_000
HOSTED_PER_S = 5_000
TREE_SECONDS = 10
MEMORY_MIB = 256
OWN_EXECUTIONS = 10_000
SECONDS = 180


def checks(cells: Sequence[Cell]) -> list[Check]:
    """The targets, with the values found."""
    return [*_figures(cells), *_printed(cells), *_own(cells), *_replays(cells), *_speeds(cells)]


def tables(cells: Sequence[Cell]) -> dict[str, Table]:
    """All tables by their titles."""
    return {title: table(cells) for title, table in TABLES.values()}


def draw(_cells: Sequence[Cell], directory: Path) -> list[Picture]:
    """The space-time diagram of one counterexample of each protocol and model."""
    pictures: list[Picture] = []
    found = directory / "counterexamples"
    for file in sorted(found.glob("otp*/*.counterexample")):
        name = file.name.rpartition("-")[0]
        drawn = directory / f"{name}.svg"
        if drawn in (picture.file for picture in pictures):
            continue
        capture([str(SCRIPT), "draw", str(file), f"out={directory}"])
        (directory / f"{file.stem}.svg").replace(drawn)
        pictures.append(Picture(title=f"A counterexample of {name}", file=drawn))
    return pictures


def figures(cells: Sequence[Cell]) -> Table:
    """Executions and failures by scope and protocol."""
    rows = [
        [title, *(_counts(_explored(cells, protocol, *row)) for protocol in TITLES)]
        for row, title in ROWS.items()
    ]
    upstream = [f"{passed}, {failed}" for passed, failed in UPSTREAM.values()]
    last = ["upstream's tests, with its annotations: passed, failed", *upstream]
    return Table(head=("", *TITLES.values()), rows=[*rows, last])


def fewest(cells: Sequence[Cell]) -> Table:
    """The smallest counterexamples of each exploration of all messages."""
    scope, order = ALL_MESSAGES
    explored = having(cells, part="explore", scope=scope, order=order)
    rows = [{**cell, "name": _name(cell)} for cell in explored if cell["fewest"]]
    return tabulated(forms(_COLUMNS["fewest"]), rows)


def models(cells: Sequence[Cell]) -> Table:
    """The campaigns, all seeds of a model in a row."""
    rows = []
    for model in dict.fromkeys(cell["model"] for cell in having(cells, part="check")):
        runs = having(cells, part="check", model=model)
        lines = [found["lines"] for run in runs for found in run["counterexamples"][:1]]
        row = {
            "seeds": len(runs),
            "failed": sum(run["failed"] > 0 for run in runs),
            "lines": f"{min(lines)} to {max(lines)}" if lines else "-",
        }
        rows.append(runs[0] | row)
    return tabulated(forms(_COLUMNS["models"]), rows)


def own(cells: Sequence[Cell]) -> Table:
    """Our protocols and their mutations."""
    return tabulated(forms(_COLUMNS["own"]), having(cells, part="own"))


def replays(cells: Sequence[Cell]) -> Table:
    """Replays by counterexample, OTP where it was found and OTP where it ran again."""
    return tabulated(forms(_COLUMNS["replays"]), having(cells, part="replay"))


TABLES: Mapping[str, tuple[str, Callable[[Sequence[Cell]], Table]]] = {
    "figures": (
        "Commit protocols, 4 nodes, 1 broadcast: executions, and those that fail",
        figures,
    ),
    "fewest": ("Counterexamples with the fewest faults", fewest),
    "models": ("Models: random executions", models),
    "own": ("Protocols of the runtime and the operator", own),
    "replays": ("Replays", replays),
}
"""The tables with their titles, by their marks in the document."""


def publish(cells: Sequence[Cell]) -> None:
    """Replaces the tables of docs/evaluation/verification.md by those of the cells.

    Raises ValueError where the marks of a table are missing.
    """
    text = DOCUMENT.read_text()
    for name, (_title, table) in TABLES.items():
        text = with_part(text, name, "\n".join(markdown_table(table(cells))))
    DOCUMENT.write_text(text)


def _figures(cells: Sequence[Cell]) -> list[Check]:
    pure = FIGURES["two_phase_commit", *ALL_MESSAGES]
    wanted = [
        *((f"{TITLES[key[0]]}, {ROWS[key[1:]]}", key, of) for key, of in FIGURES.items()),
        (
            f"3PC, {MUTATED}, all messages",
            ("three_phase_commit", *ALL_MESSAGES, MUTATED),
            MUTATED_3PC,
        ),
        *((f"{name}, all messages, as 2PC", (name, *ALL_MESSAGES), pure) for name in HOSTED),
    ]
    return [
        equal(name, _counts(cell), _text(*figures))
        for name, which, figures in wanted
        if (cell := _explored(cells, *which))
    ]


def _printed(cells: Sequence[Cell]) -> list[Check]:
    found = []
    for model, limit in PRINTED.items():
        runs = having(cells, part="check", model=model)
        if not runs:
            continue
        lines = [min((f["lines"] for f in run["counterexamples"]), default=None) for run in runs]
        longest = max((n for n in lines if n is not None), default=None)
        name = f"{model}: counterexample within {EXECUTIONS_WITHIN} executions"
        found += [
            every(name, [n is not None for n in lines], "seeds"),
            at_most(f"{model}: lines, longest", longest, limit),
        ]
    holding = [c for c in having(cells, part="check") if c["model"] not in PRINTED]
    return found + [equal(f"{c['model']}: failing", c["failed"], 0) for c in holding]


def _own(cells: Sequence[Cell]) -> list[Check]:
    found = []
    for cell in having(cells, part="own"):
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
    runs = having(cells, part="replay")
    return [
        Check(
            name=f"replays on OTP {release} with the recorded digest, without a warning",
            value=f"{sum(run['same'] for run in of)} of {sum(run['times'] for run in of)}",
            bar="all",
            ok=all(run["same"] == run["times"] and not run["changed"] for run in of),
        )
        for release in dict.fromkeys(run["otp"] for run in runs)
        if (of := having(runs, otp=release))
    ]


def _speeds(cells: Sequence[Cell]) -> list[Check]:
    floors = [("3PC raw: executions/s", ("three_phase_commit", "raw", "distinct"), RAW_PER_S)]
    floors += [(f"{name}: executions/s", (name, *ALL_MESSAGES), HOSTED_PER_S) for name in HOSTED]
    found = []
    for name, which, least in floors:
        if cell := _explored(cells, *which):
            rate = cell["executions_per_s"]
            found.append(at_least(name, rate, least, shown=f"{rate:,.0f}"))
    if tree := _explored(cells, "cooperative_termination", *ALL_MESSAGES):
        seconds, name = tree["seconds"], "CTP, all messages: seconds"
        found.append(at_most(name, seconds, TREE_SECONDS, shown=f"{seconds:.2f}"))
    if explored := having(cells, part="explore"):
        most = max(cell["memory_mb"] for cell in explored) * 1e6 / 2**20
        found.append(at_most("memory, MiB, most", most, MEMORY_MIB, shown=f"{most:.0f}"))
    for cell in having(cells, part="all"):
        seconds, name = cell["seconds"], "seconds for all, with both releases compiled"
        found.append(at_most(name, seconds, SECONDS, shown=f"{seconds:.0f}"))
    return found


def _explored(
    cells: Sequence[Cell], protocol: str, scope: str, order: str, mutation: str | None = None
) -> Cell | None:
    wanted = {"protocol": protocol, "scope": scope, "order": order, "mutation": mutation}
    return next(iter(having(cells, part="explore", **wanted)), None)


def _counts(cell: Cell | None) -> str:
    return "-" if cell is None else _text(cell["executions"], cell["failing"])


def _text(executions: int, failing: int) -> str:
    return f"{executions:,}, {failing:,} failing"


def _name(cell: Cell) -> str:
    title = TITLES.get(cell["protocol"]) or str(cell["protocol"])
    return f"{title}, {cell['mutation']}" if cell["mutation"] else title
