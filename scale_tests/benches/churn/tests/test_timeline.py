"""Survivors, their reach, and the traffic."""

from scale_tests.benches.churn.tests.recordings import INCARNATIONS, NAMES, kill, node, ring, sample
from scale_tests.benches.churn.timeline import Phase, sent


def test_survivors_are_those_that_live_as_they_did_and_were_not_killed() -> None:
    phase = kill("churn-0")
    back = node("churn-0", ["churn-1"], incarnation=99)
    restarted = node("churn-1", ["churn-2"], incarnation=99)
    seen = sample(11, [back, restarted, *ring()[2:]])
    assert sorted(phase.survivors(seen)) == ["churn-2", "churn-3"]
    assert phase.restarted(seen) == ("churn-1",)


def test_survivors_reach_each_other_over_all_nodes() -> None:
    phase = kill("churn-0", "churn-2")
    # 1 and 3 were linked over the dead only.
    dead = sample(11, [node("churn-1", ["churn-2"]), node("churn-3", ["churn-0"])])
    assert phase.reach(dead) == 0.5
    successor = node("churn-2", ["churn-3"], incarnation=99)
    back = sample(12, [node("churn-1", ["churn-2"]), successor, node("churn-3", [])])
    assert phase.reach(back) == 1


def test_a_sample_that_too_few_answered_says_nothing_of_links() -> None:
    assert kill("churn-0").reach(sample(11, ring()[2:])) is None


def test_links_across_a_cut_do_not_count_until_it_is_healed() -> None:
    sides = (frozenset(NAMES[:2]), frozenset(NAMES[2:]))
    phase = Phase(name="partition", kind="partition", at=10, incarnations=INCARNATIONS, sides=sides)
    assert phase.reach(sample(11, ring())) == 0.5
    phase.until = 20
    assert phase.reach(sample(19, ring())) == 0.5
    assert phase.reach(sample(21, ring())) == 1


def test_the_cluster_is_whole_when_operator_and_nodes_agree() -> None:
    assert sample(1, ring()).whole
    assert not sample(1, ring(), components=2).whole
    assert not sample(1, ring()[:3]).whole
    apart = [node(name, []) for name in NAMES]
    assert not sample(1, apart).whole


def test_traffic_of_a_killed_node_stays_counted() -> None:
    samples = [
        sample(0, [node("churn-0", [], sent=100)]),
        sample(1, [node("churn-0", [], sent=300)]),
        sample(2, []),
        sample(3, [node("churn-0", [], sent=50, incarnation=99)]),
    ]
    assert [(total["frames"], total["payload"]) for _, total in sent(samples)] == [
        (100, 10),
        (300, 30),
        (300, 30),
        (350, 35),
    ]
