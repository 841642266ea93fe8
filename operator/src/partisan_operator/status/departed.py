"""The actors that vanished during a run, and what they had counted.

An actor is one life of one node, NODE/INCARNATION, and a node's incarnations only grow. A run may
outlive any number of them, and the status holds a bounded number: beyond it the oldest are added
up, one entry for each node, which remembers up to which incarnation it goes. So an actor that the
nodes still report is recognised, and counted once, whether it has an entry of its own or not.

Some are *reported*: their node runs under a later actor, and the others tell what they hold of
them. Of the rest, such as those of nodes that were scaled away, nobody tells what is held; their
part is what remains of the counter at the end of the run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass

from partisan_operator.models.status import MAX_RETIRED, FoldedActors, RetiredActor


@dataclass(frozen=True)
class DepartedActors:
    """The actors that vanished, as the status tells of them."""

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
        """What they are known to have made: as seen, or as the others hold where that is more."""
        return sum(max(made, counted) for made, counted in self._reported()) + self.unreported

    @property
    def counted(self) -> int:
        """What the others are known to hold of them."""
        return sum(counted for _, counted in self._reported())

    @property
    def lost(self) -> int:
        """What those that are reported had made, and the others do not hold."""
        return sum(max(0, made - counted) for made, counted in self._reported())

    @property
    def unreported(self) -> int:
        """What those made of which nobody reports an entry."""
        alone = sum(entry.increments for entry in self.retired if entry.counted is None)
        return alone + sum(entry.unreported for entry in self.folded)

    @property
    def nodes(self) -> frozenset[str]:
        """The nodes that they were lives of."""
        own = {node_of(entry.actor) for entry in self.retired}
        return frozenset(own | {entry.node for entry in self.folded})

    def _reported(self) -> Iterator[tuple[int, int]]:
        for actor in self.retired:
            if actor.counted is not None:
                yield actor.increments, actor.counted
        for entry in self.folded:
            yield entry.increments, entry.counted


def node_of(actor: str) -> str:
    """Return the node that an actor is a life of."""
    return actor.partition("/")[0]


def advance(
    known: DepartedActors, gone: Mapping[str, int], reported: Mapping[str, int], alive: Set[str]
) -> DepartedActors:
    """Return the vanished actors after another look.

    `gone` are actors that are no longer counted under, with what they were last seen to have
    made. `reported` are those of which nodes tell the entries that they hold, the greatest of
    each. `alive` are those that nodes count under now: one that was thought gone may be back.
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
    """Add up what is beyond the bound: who is reported cannot come back and goes first."""
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
    """Return the entry of a node with one more actor in it."""
    into = into or FoldedActors(
        node=node_of(actor.actor), actors=0, last=0, increments=0, counted=0
    )
    counted = actor.counted
    return FoldedActors(
        node=into.node,
        actors=into.actors + 1,
        last=max(into.last, _incarnation(actor.actor)),
        # Of each the greater figure: what one had more must not hide what another lost.
        increments=into.increments + (0 if counted is None else max(actor.increments, counted)),
        counted=into.counted + (counted or 0),
        unreported=into.unreported + (actor.increments if counted is None else 0),
    )


def _held(entry: FoldedActors, counted: int) -> FoldedActors:
    """Return the entry of a node of whose folded actors the others are seen to hold that much.

    What is more than before belongs to actors that nobody reported so far, as far as it can.
    """
    more = max(0, counted - entry.counted)
    told = min(more, entry.unreported)
    return entry.model_copy(
        update={
            "counted": entry.counted + more,
            "increments": entry.increments + told,
            "unreported": entry.unreported - told,
        }
    )


def _is_folded(actor: str, folded: Mapping[str, FoldedActors]) -> bool:
    entry = folded.get(node_of(actor))
    return entry is not None and _incarnation(actor) <= entry.last


def _incarnation(actor: str) -> int:
    number = actor.partition("/")[2]
    return int(number) if number.isdecimal() else 0
