"""A rollout runs in batches, loses no count, halts with a reason, and can be undone."""

from scale_tests.cluster.crowding import crowded
from scale_tests.cluster.kube import Json
from scale_tests.cluster.subject import LASTING, Subject, counter, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject, Plugin
from scale_tests.e2e.outcomes import assert_accounted

NODES = 6
AT_ONCE = 2
ROLLOUT = {"rollout": {"maxUnavailable": AT_ONCE}}


class Replacing:
    """Which pods of a cluster its rollout has taken away and not yet given back."""

    def __init__(self, subject: Subject) -> None:
        """Begin with pods that all run."""
        self._subject = subject
        self._names = frozenset(subject.uids())
        self._back = set(subject.uids().values())
        self.most: frozenset[str] = frozenset()
        """The names of the most pods that were away at once."""

    def observe(self) -> frozenset[str]:
        """The names of pods that are missing, terminating, or new and not yet ready once.

        A pod that was ready and is no more, as on a machine without a CPU to spare, is not away:
        the rollout waits for it.
        """
        pods = {n: p for n, p in self._subject.pods().items() if not terminating(p)}
        self._back |= {pod["metadata"]["uid"] for pod in pods.values() if ready(pod)}
        here = {name for name, pod in pods.items() if pod["metadata"]["uid"] in self._back}
        away = self._names - here
        self.most = max(self.most, away, key=len)
        return away


def terminating(pod: Json) -> bool:
    return "deletionTimestamp" in pod["metadata"]


def ready(pod: Json) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(entry["type"] == "Ready" and entry["status"] == "True" for entry in conditions)


def test_a_rollout_under_load_goes_in_batches_and_loses_no_count(new_subject: NewSubject) -> None:
    subject = new_subject("loaded")
    workload = {"adCounter": counter(NODES, LASTING)}
    subject.apply(manifest("loaded", NODES, workload=workload, **ROLLOUT))
    subject.wait_counted(NODES * 5)
    before, replacing = subject.uids(), Replacing(subject)
    subject.patch(resources={"requests": {"cpu": "11m", "memory": "48Mi"}})

    def updated() -> int:
        replacing.observe()
        return int(subject.json()["status"].get("updated", 0))

    # The pods of the previous template count as updated until the operator has written its status.
    wait_for("the rollout's beginning", updated, lambda count: count < NODES)
    wait_for("the rollout's end", updated, lambda count: count == NODES)
    assert len(replacing.most) <= AT_ONCE, replacing.most
    assert not set(before.values()) & set(subject.uids().values())

    def departed() -> dict[str, tuple[int, int | None]]:
        """For each actor of a replaced pod: what it counted, and what the others hold of that."""
        retired = subject.json()["status"]["workload"].get("retired", ())
        return {each["actor"]: (each["increments"], each.get("counted")) for each in retired}

    wait_for(
        "the others hold all that the replaced pods counted",
        departed,
        lambda actors: (
            len(actors) == NODES
            and all(counted is not None and counted >= made for made, counted in actors.values())
        ),
    )
    run = subject.status().workload
    assert (run.phase, run.replaced_nodes, run.lost_increments) == ("Running", NODES, 0)
    assert_accounted(subject, subject.end_run())


def test_a_rollout_that_does_not_rejoin_halts_with_a_reason_and_can_be_undone(
    new_subject: NewSubject, partisan: Plugin
) -> None:
    subject = new_subject("stuck")
    subject.apply(manifest("stuck", NODES, workload=None, **ROLLOUT))
    subject.wait_steady()
    before = subject.uids()
    subject.patch(image="registry.invalid/nobody/nothing:1")
    subject.wait_degraded("ImagePullFailed", "spec.image")
    assert "Stopped: ImagePullFailed" in partisan("rollout", "status", "stuck", "--no-watch")
    kept = {name for name, uid in subject.uids().items() if before.get(name) == uid}
    assert kept == {f"stuck-{ordinal}" for ordinal in range(NODES - AT_ONCE)}
    said = partisan("rollout", "undo", "stuck")
    assert "spec.image: registry.invalid/nobody/nothing:1 -> " in said
    status = subject.wait("undone", lambda s: s.steady and not s.degraded)
    assert status.components == 1
    # Pods that the rollout had not reached are of the previous template, and stay.
    after = subject.uids()
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}


def test_a_rollout_can_be_paused_and_resumed(new_subject: NewSubject, partisan: Plugin) -> None:
    subject = new_subject("halted")
    subject.apply(manifest("halted", NODES, workload=None, rollout={"maxUnavailable": 1}))
    subject.wait_steady()
    before = subject.uids()

    def replaced() -> int:
        now = subject.uids()
        return sum(now.get(name) != uid for name, uid in before.items())

    # The first pod's successor cannot start before the pause is in force.
    with crowded(subject):
        subject.patch(resources={"requests": {"cpu": "11m", "memory": "48Mi"}})
        wait_for("the first pod gone", replaced, bool)
        partisan("rollout", "pause", "halted")
        subject.wait("paused", lambda s: s.is_true("Paused") and s.current)
    subject.wait("the first pod replaced", lambda s: s.ready == NODES)
    assert replaced() == 1
    partisan("rollout", "resume", "halted")
    assert partisan("rollout", "status", "halted").splitlines()[-1].startswith("Settled")
    assert replaced() == NODES
