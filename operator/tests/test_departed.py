"""The increments of departed actors are reported in full, however many there were."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partisan_operator.models.spec import MAX_REPLICAS
from partisan_operator.models.status import MAX_COUNT, MAX_RETIRED, WorkloadStatus
from partisan_operator.status import departed as vanished
from partisan_operator.status.departed import DepartedActors, advance

NONE: frozenset[str] = frozenset()

incarnations = st.lists(
    st.tuples(
        st.sampled_from(["ads-0", "ads-1", "ads-2"]),
        st.integers(0, 50),  # its last observed increments
        st.integers(0, 50),  # the part that other nodes hold
        st.booleans(),  # whether it is reported before the end
    ),
    max_size=25,
)


def actor(node: str, incarnation: int) -> str:
    return f"{node}/{incarnation}"


def total(gone: DepartedActors, value: int) -> tuple[int, int, int]:
    """Return the number, the increments and the loss in the status at the end of a run."""
    lost = gone.lost + max(0, gone.unreported - max(0, value - gone.counted))
    return gone.actors, gone.increments, lost


@given(incarnations, st.integers(0, 6))
def test_the_sums_are_the_same_wherever_actors_are_folded(
    history: list[tuple[str, int, int, bool]], bound: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vanished, "MAX_RETIRED", bound)
        gone, reported = DepartedActors(), dict[str, int]()
        for incarnation, (node, made, held, early) in enumerate(history, start=1):
            name = actor(node, incarnation)
            if early:
                reported[name] = min(made, held)
            gone = advance(gone, {name: made}, reported, NONE)
            assert len(gone.retired) <= bound
        everything = {
            actor(node, incarnation): min(made, held)
            for incarnation, (node, made, held, _) in enumerate(history, start=1)
        }
        gone = advance(gone, {}, everything, NONE)
    made = sum(made for _, made, _, _ in history)
    value = sum(everything.values())
    assert total(gone, value) == (len(history), made, made - value)


def test_two_halvings_of_the_largest_cluster_are_reported_in_full() -> None:
    """Serialised as on the wire, within the bounds of the API server."""
    gone = DepartedActors()
    for incarnation in (1, 2, 3):
        away = {actor(f"ads-{ordinal}", incarnation): 10 for ordinal in range(MAX_REPLICAS)}
        gone = advance(gone, away, {}, NONE)
        gone = advance(gone, {}, dict.fromkeys(away, 9), NONE)
        wire: Any = WorkloadStatus(
            run="r", phase="Running", retired=gone.retired, folded=gone.folded
        ).to_wire()
        again = WorkloadStatus.model_validate(wire)
        assert DepartedActors(again.retired, again.folded) == gone
    assert len(gone.retired) == MAX_RETIRED
    assert len(gone.folded) <= MAX_REPLICAS
    assert total(gone, 3 * 9 * 1024) == (3 * 1024, 3 * 10240, 3 * 1024)


def test_folded_actors_are_recognised_and_counted_once() -> None:
    many = {actor("ads-7", incarnation): 3 for incarnation in range(1, MAX_RETIRED + 11)}
    gone = advance(DepartedActors(), many, dict.fromkeys(many, 3), NONE)
    assert [(entry.actors, entry.last) for entry in gone.folded] == [(10, 10)]
    assert advance(gone, many, dict.fromkeys(many, 3), NONE) == gone


@pytest.mark.parametrize("counted", [None, MAX_COUNT])
def test_figures_of_faulty_nodes_are_numbers_that_the_api_server_stores(
    counted: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vanished, "MAX_RETIRED", 0)
    gone = DepartedActors()
    for incarnation in (1, 2, 10**30):
        name = actor("ads-7", incarnation)
        gone = advance(gone, {name: MAX_COUNT}, {} if counted is None else {name: counted}, NONE)
    (entry,) = gone.folded
    assert entry.last == MAX_COUNT
    assert max(entry.increments, entry.counted, entry.unreported) == MAX_COUNT


def test_an_unreported_actor_keeps_an_entry_of_its_own_and_may_come_back() -> None:
    many = {actor("ads-7", incarnation): 3 for incarnation in range(2, MAX_RETIRED + 2)}
    gone = advance(DepartedActors(), {actor("ads-9", 1): 5}, {}, NONE)
    gone = advance(gone, many, dict.fromkeys(many, 3), NONE)
    assert [entry.node for entry in gone.folded] == ["ads-7"]
    back = advance(gone, {}, {}, {actor("ads-9", 1)})
    assert back.actors == gone.actors - 1
    assert back.increments == gone.increments - 5


def test_an_entry_that_grows_after_folding_reduces_the_loss() -> None:
    many = {actor("ads-7", incarnation): 3 for incarnation in range(1, MAX_RETIRED + 3)}
    gone = advance(DepartedActors(), many, dict.fromkeys(many, 1), NONE)
    assert gone.lost == 2 * len(many)
    grown = advance(gone, {}, dict.fromkeys(many, 3), NONE)
    assert (grown.actors, grown.increments, grown.lost) == (len(many), 3 * len(many), 0)
