"""The batches of a rollout."""

from hypothesis import given
from hypothesis import strategies as st

from partisan_operator.decide import rollout
from partisan_operator.observe.observation import PodRevision, ShardState

NAMES = tuple(f"ads-{ordinal}" for ordinal in range(10))
SHARD = ShardState(
    index=0, name="ads", uid="set", wanted=10, exists=10, ready=10, updated=0, revision="new",
    settled=True,
)  # fmt: skip


def pod(name: str, revision: str = "old", *, pending: bool = False) -> PodRevision:
    return PodRevision(name, f"{name}-{revision}", "set", revision, pending)


def batch(
    pods: list[PodRevision],
    *,
    down: set[str] = frozenset(),
    connected: bool = True,
    most: int = 2,
    all_crash: bool = False,
) -> list[str]:
    """Return the names of the next batch; the pods in `down` are not available."""
    found = rollout.next_batch(
        shards=[SHARD],
        pods=pods,
        expected=NAMES,
        available={pod.uid for pod in pods if pod.name not in down and not pod.pending},
        connected=connected,
        max_unavailable=most,
        all_crash=all_crash,
    )
    return [pod.name for pod in found.pods]


ALL_OLD = [pod(name) for name in NAMES]


def test_the_highest_ordinals_go_first() -> None:
    assert batch(ALL_OLD) == ["ads-9", "ads-8"]


def test_no_pod_is_replaced_while_the_overlay_is_partitioned() -> None:
    assert batch(ALL_OLD, connected=False) == []


def test_the_next_batch_waits_for_the_last() -> None:
    pods = [pod(name) for name in NAMES[:9]] + [pod("ads-9", "new")]
    assert batch(pods, down={"ads-9"}) == []
    assert batch(pods) == ["ads-8", "ads-7"]


def test_a_missing_pod_counts_towards_the_batch() -> None:
    assert batch(ALL_OLD[:9]) == ["ads-8"]
    assert batch(ALL_OLD[:8]) == []


def test_all_pods_that_never_ran_are_replaced_at_once() -> None:
    pods = [pod(name, pending=True) for name in NAMES[:5]] + [pod(n) for n in NAMES[5:]]
    assert batch(pods) == ["ads-4", "ads-3", "ads-2", "ads-1", "ads-0"]


def test_failed_pods_are_replaced_before_available_ones() -> None:
    assert batch(ALL_OLD, down={"ads-3", "ads-4", "ads-5"}, connected=False) == ["ads-5", "ads-4"]


def test_an_isolated_pod_waits_for_the_missing_ones() -> None:
    assert batch(ALL_OLD[:1], down={"ads-0"}, connected=False) == []
    made = [pod("ads-0"), *(pod(name, "new") for name in NAMES[1:])]
    assert batch(made, down=set(NAMES), connected=False) == []
    assert batch(made, down={"ads-0"}, connected=False) == ["ads-0"]


def test_a_broken_template_makes_one_batch_unavailable() -> None:
    pods = [*ALL_OLD[:8], pod("ads-8", "new"), pod("ads-9", "new", pending=True)]
    assert batch(pods, down={"ads-8", "ads-9"}) == []


def test_pods_that_all_crash_are_replaced_together() -> None:
    pods = [*ALL_OLD[:8], pod("ads-8", "new"), pod("ads-9", "new")]
    every = {entry.name for entry in pods}
    assert batch(pods, down=every, connected=False) == []
    assert batch(pods, down=every, connected=False, all_crash=True) == [
        f"ads-{ordinal}" for ordinal in range(7, -1, -1)
    ]


def test_pods_of_others_and_beyond_the_spec_are_left_alone() -> None:
    foreign = PodRevision("ads-1", "x", "other", "old", True)
    beyond = pod("ads-77", pending=True)
    assert batch([foreign, beyond]) == []


def test_no_pod_is_outdated_before_the_controller_observes_the_spec() -> None:
    unsettled = ShardState(**{**vars(SHARD), "settled": False})
    found = rollout.next_batch(
        shards=[unsettled],
        pods=ALL_OLD,
        expected=NAMES,
        available={pod.uid for pod in ALL_OLD},
        connected=True,
        max_unavailable=3,
    )
    assert found == rollout.Batch((), 0)
    assert unsettled.rolling


@given(
    st.lists(
        st.tuples(st.sampled_from(["old", "new", "gone"]), st.booleans(), st.booleans()),
        min_size=10,
        max_size=10,
    ),
    st.integers(1, 10),
    st.booleans(),
)
def test_unavailable_pods_never_exceed_the_maximum(
    states: list[tuple[str, bool, bool]], most: int, connected: bool
) -> None:
    """Unless more are missing already: an available pod is not the cause."""
    pods = [
        pod(name, revision, pending=pending and not up)
        for name, (revision, up, pending) in zip(NAMES, states, strict=True)
        if revision != "gone"
    ]
    available = {
        f"{name}-{revision}"
        for name, (revision, up, _) in zip(NAMES, states, strict=True)
        if up and revision != "gone"
    }
    found = rollout.next_batch(
        shards=[SHARD],
        pods=pods,
        expected=NAMES,
        available=available,
        connected=connected,
        max_unavailable=most,
    )
    deleted = {entry.uid for entry in found.pods}
    missing_before = len(NAMES) - len(available)
    missing_after = len(NAMES) - len(available - deleted)
    assert missing_after <= max(most, missing_before)
    assert all(entry.revision == "old" for entry in found.pods)
    if deleted & available:
        assert connected
