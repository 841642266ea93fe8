"""The actors that departed during a run, and their increments.

An actor is one incarnation of one node, NODE/INCARNATION, and a node's incarnations only grow. A
run may outlive any number of them, and the status holds a bounded number: beyond it the oldest are
summed in one entry for each node, which records the last incarnation in it. So an actor that nodes
still report is recognised and counted once, whether it has an entry of its own or not.

Some are *reported*: their node runs under a later actor, and the other nodes report their entries.
The rest, such as those of nodes that were scaled down, are not reported; their part is the
remainder of the counter at the end of the run.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from partisan_operator.models.status import MAX_COUNT, MAX_RETIRED, FoldedActors, RetiredActor


@dataclass(frozen=True)
class DepartedActors:
    """The departed actors, as in the status."""

    retired: tuple[RetiredActor, ...] = ()
    """Those with entries of their own, by name."""

    folded: tuple[FoldedActors, ...] = ()
    """The others, by node."""

    @property
    def actors(self) -> int:
        """How many there were."""
        return len(self.retired) + sum(entry.actors for entry in self.folded)

    @property
    def increments(self) -> int:
        """Their known increments: as observed, or as held by other nodes if that is more."""
        return sum(max(made, counted) for made, counted in self._reported()) + self.unreported

    @property
    def counted(self) -> int:
        """Their increments that other nodes are known to hold."""
        return sum(counted for _, counted in self._reported())

    @property
    def lost(self) -> int:
        """Increments of the reported ones that no other node holds."""
        return sum(max(0, made - counted) for made, counted in self._reported())

    @property
    def unreported(self) -> int:
        """Increments of those that no node reports."""
        alone = sum(entry.increments for entry in self.retired if entry.counted is None)
        return alone + sum(entry.unreported for entry in self.folded)

    @property
    def nodes(self) -> frozenset[str]:
        """Their nodes."""
        own = {node_of(entry.actor) for entry in self.retired}
        return frozenset(own | {entry.node for entry in self.folded})

    def _reported(self) -> Iterator[tuple[int, int]]:
        for actor in self.retired:
            if actor.counted is not None:
                yield actor.increments, actor.counted
        for entry in self.folded:
            yield entry.increments, entry.counted


def node_of(actor: str) -> str:
    """Return the node that an actor is an incarnation of."""
    return actor.partition("/")[0]


def advance(
    known: DepartedActors, gone: Mapping[str, int], reported: Mapping[str, int], alive: Set[str]
) -> DepartedActors:
    """Return the departed actors after another observation.

    `gone` are actors no longer in use, with their last observed increments. `reported` are actors
    of which nodes hold entries, with the greatest entry. `alive` are the actors in use now, one of
    which may have been counted as departed before.
    """
    folded = {entry.node: entry for entry in known.folded}
    retired = {entry.actor: entry for entry in known.retired}
    for actor, increments in gone.items():
        if actor not in retired and not _is_folded(actor, folded):
            retired[actor] = RetiredActor(actor=actor, increments=increments)
    held: dict[str, int] = defaultdict(int)
    for actor, counted in reported.items():
        if actor not in retired and _is_folded(actor, folded):
            held[node_of(actor)] += counted
            continue
        entry = retired.get(actor, RetiredActor(actor=actor, increments=counted))
        retired[actor] = entry.model_copy(update={"counted": max(counted, entry.counted or 0)})
    folded |= {node: _held(folded[node], counted) for node, counted in held.items()}
    gone_for_good = [entry for actor, entry in retired.items() if actor not in alive]
    return _bounded(gone_for_good, folded)


def _bounded(retired: list[RetiredActor], folded: dict[str, FoldedActors]) -> DepartedActors:
    """Sum up actors beyond the bound, reported ones first: these cannot come back."""
    oldest_first = sorted(
        retired, key=lambda entry: (entry.counted is None, _incarnation(entry.actor), entry.actor)
    )
    beyond = max(0, len(retired) - MAX_RETIRED)
    for actor in oldest_first[:beyond]:
        node = node_of(actor.actor)
        folded[node] = _folded(actor, folded.get(node))
    kept = sorted(oldest_first[beyond:], key=lambda entry: entry.actor)
    return DepartedActors(tuple(kept), tuple(folded[node] for node in sorted(folded)))


def _folded(actor: RetiredActor, into: FoldedActors | None) -> FoldedActors:
    """Return the entry of a node with one more actor added."""
    into = into or FoldedActors(
        node=node_of(actor.actor), actors=0, last=0, increments=0, counted=0
    )
    counted = actor.counted
    return FoldedActors(
        node=into.node,
        actors=into.actors + 1,
        last=max(into.last, _incarnation(actor.actor)),
        # The greater figure of each: a surplus of one must not hide a loss of another.
        increments=_sum(into.increments, 0 if counted is None else max(actor.increments, counted)),
        counted=_sum(into.counted, counted or 0),
        unreported=_sum(into.unreported, actor.increments if counted is None else 0),
    )


def _held(entry: FoldedActors, counted: int) -> FoldedActors:
    """Return the entry of a node after other nodes were observed to hold that much of its actors.

    A surplus is attributed to actors that were not reported so far, as far as possible.
    """
    more = max(0, counted - entry.counted)
    found = min(more, entry.unreported)
    return entry.model_copy(
        update={
            "counted": _sum(entry.counted, more),
            "increments": _sum(entry.increments, found),
            "unreported": entry.unreported - found,
        }
    )


def _is_folded(actor: str, folded: Mapping[str, FoldedActors]) -> bool:
    entry = folded.get(node_of(actor))
    return entry is not None and _incarnation(actor) <= entry.last


def _incarnation(actor: str) -> int:
    number = actor.partition("/")[2]
    return min(int(number), MAX_COUNT) if number.isdecimal() else 0


def _sum(one: int, other: int) -> int:
    return min(one + other, MAX_COUNT)
