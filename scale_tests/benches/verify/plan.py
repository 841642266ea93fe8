"""The commands of `partisan_verify` that are run, and what they must find.

Exact figures are of the commit protocols with four nodes and one broadcast.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from scale_tests.host.documents import data_of

_DATA = data_of(__file__)

TITLES: Mapping[str, str] = _DATA["titles"]
ROWS: Mapping[tuple[str, str], str] = {
    (scope, order): title for scope, row in _DATA["rows"].items() for order, title in row.items()
}
FIGURES: Mapping[tuple[str, str, str], tuple[int, int]] = {
    (protocol, *row): tuple(_DATA["figures"][protocol][row[0]][row[1]])
    for protocol in TITLES
    for row in ROWS
}
MUTATED_3PC: tuple[int, int] = tuple(_DATA["mutated_3pc"])
UPSTREAM: Mapping[str, tuple[int, int]] = _DATA["upstream"]
PRINTED: Mapping[str, int] = _DATA["printed"]

EXECUTIONS_WITHIN = 100
"""Random executions in which a printed counterexample must be found."""

ALL_MESSAGES = ("recursive", "distinct")
"""The scope and the order in which faults are of all messages."""

SEEDS = range(1, 11)
"""Of the models that must find their counterexample, whatever the seed."""

REPLAYS = 1000

MUTATED = "participants wait for ever"
"""The mutation of three-phase commit that makes it block like two-phase commit."""

HOSTED = ("hosted_commit_server", "hosted_commit_statem")
"""Two-phase commit as a gen_server and as a gen_statem; sources of the tests."""

OWN = {
    "hyparview": "no_keep",
    "acknowledged_stream": "acknowledges_arrival",
    "delta": "early_handover",
    "tree": "no_retransmission",
}
"""The runtime's own protocols, each with a mutation that must be caught."""

ROTATION = "does_not_wait"
"""The mutation of the operator's rotation of authorities."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """One command."""

    title: str
    arguments: Sequence[str]
    fields: Mapping[str, str | int | bool | None] = field(default_factory=dict)
    """Fields of its cells that it does not write itself."""


def explore(
    protocol: str,
    scope: str,
    order: str,
    *settings: str,
    mutation: str | None = None,
    source: str | None = None,
) -> Job:
    """An exploration with four nodes. `source` is the protocol's file if it is not ours."""
    mutated = f", {mutation}" if mutation else ""
    return Job(
        title=f"{protocol}{mutated}: {scope}, {order}",
        arguments=[
            *("explore", source or protocol, "nodes=4", f"scope={scope}", f"order={order}"),
            *settings,
        ],
        fields={"part": "explore", "protocol": protocol, "mutation": mutation},
    )


def check(model: str, seed: int, *settings: str, executions: int = EXECUTIONS_WITHIN) -> Job:
    """A campaign of a model."""
    return Job(
        title=f"{model}: seed {seed}",
        arguments=["check", model, f"seed={seed}", f"executions={executions}", *settings],
        fields={"part": "check"},
    )


def replay(file: str, times: int) -> Job:
    """Replays of a counterexample."""
    return Job(
        title=f"{file}: {times} replays",
        arguments=["replay", file, f"times={times}"],
        fields={"part": "replay"},
    )


def explorations(tests: str, out: str) -> list[Job]:
    """All explorations. `tests`: the directory of the hosted ones; `out`: for counterexamples."""
    into = f"out={out}"
    endless = "options=#{participant_timeout => infinity}"
    # Both hosted ones share the scenario of the first.
    shared = f"code={tests}/{HOSTED[0]}.erl"
    return [
        *(explore(protocol, scope, order, into) for protocol, scope, order in FIGURES),
        explore("three_phase_commit", *ALL_MESSAGES, endless, into, mutation=MUTATED),
        *(
            explore(name, *ALL_MESSAGES, shared, into, source=f"{tests}/{name}.erl")
            for name in HOSTED
        ),
    ]


def campaigns(out: str, *, quick: bool) -> list[Job]:
    """The models with a printed counterexample, with several seeds, and one that holds."""
    seeds = SEEDS[:2] if quick else SEEDS
    return [
        *(check(model, seed, f"out={out}") for model in PRINTED for seed in seeds),
        check("quorum_kv_atomic", 1, f"out={out}", executions=200 if quick else 1000),
    ]


def replayed(out: str) -> list[Job]:
    """The searches whose counterexamples are replayed: one of each."""
    return [
        explore("three_phase_commit", *ALL_MESSAGES, f"out={out}"),
        *(check(model, 1, f"out={out}", "counterexamples=1") for model in PRINTED),
    ]


def own(*, quick: bool) -> list[Job]:
    """The runtime's own protocols, and each with its mutation."""
    size = ["--quick"] if quick else []
    return [
        Job(
            title=f"{protocol}: {mutation or 'as it is'}",
            arguments=["own", protocol, *([f"mutation={mutation}"] if mutation else []), *size],
            fields={"part": "own", "quick": quick},
        )
        for protocol, changed in OWN.items()
        for mutation in (None, changed)
    ]
