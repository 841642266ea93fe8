"""The turns of clusters to follow a new default image."""

from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_api import FakeApi
from loop_rig import CLUSTER, SET, Rig
from partisan_operator.api.errors import KubeError
from partisan_operator.decide.fleet import HALTED, WAITING, followed_image, hold
from partisan_operator.loop import ClusterLoop
from partisan_operator.models import PartisanCluster
from partisan_operator.models.cluster import KIND
from partisan_operator.models.status import DefaultImageStatus, FleetRollout
from partisan_operator.observe.fleet import Member, member_of, read_member
from partisan_operator.observe.observation import Observation
from partisan_operator.schedule.fleet import LIFETIME, Fleet, members_of
from partisan_operator.settings import Settings
from world import START, cluster

OLD, NEW, NEWEST = "node:1", "node:2", "node:3"


def member(name: str, image: str = OLD, rollout: str = "Created", **fields: object) -> Member:
    return Member("default", name, image, FleetRollout(rollout), **fields)  # type: ignore[arg-type]


def turns(*fleet: Member, image: str = NEW, limit: int = 1) -> list[str]:
    """Return the names of the clusters that may follow the image now."""
    behind = [each for each in fleet if each.image != image]
    return [each.name for each in behind if hold(each, fleet, image, limit) is None]


def test_clusters_follow_in_the_order_of_their_names_as_many_as_the_limit() -> None:
    fleet = [member("c"), member("a"), member("b")]
    assert turns(*fleet) == ["a"]
    assert sorted(turns(*fleet, limit=2)) == ["a", "b"]


def test_a_cluster_that_rolls_takes_a_place_until_it_is_complete() -> None:
    assert turns(member("a", NEW, "Rolling"), member("b")) == []
    assert turns(member("a", NEW, "RolledOut"), member("b")) == ["b"]
    assert turns(member("a", NEW, "Rolling"), member("b"), member("c"), limit=2) == ["b"]


def test_a_cluster_that_is_degraded_during_or_after_its_rollout_halts_the_others() -> None:
    for rollout in ("Rolling", "RolledOut"):
        broken = member("a", NEW, rollout, degraded="CrashLooping")
        found = hold(member("b"), [broken, member("b")], NEW, 5)
        assert found is not None
        assert found.reason == HALTED
        assert "default/a" in found.message
        assert "CrashLooping" in found.message
        assert "kubectl annotate pcl -n default a partisan.dev/fleet-rollout=ignore" in (
            found.message
        )


def test_a_cluster_that_was_made_with_the_image_neither_halts_nor_takes_a_place() -> None:
    assert turns(member("a", NEW, degraded="Unschedulable"), member("b")) == ["b"]


def test_a_degraded_cluster_with_the_annotation_neither_halts_nor_takes_a_place() -> None:
    broken = member("a", NEW, "Rolling", degraded="CrashLooping", ignored=True)
    assert turns(broken, member("b")) == ["b"]


def test_a_waiting_cluster_with_the_annotation_follows_and_no_other_waits_for_it() -> None:
    ignored = member("a", ignored=True)
    assert turns(ignored, member("b"), member("c")) == ["a", "b"]
    assert turns(ignored, member("b", NEW, "Rolling")) == []


def test_a_waiting_cluster_names_one_that_rolls_or_else_the_next() -> None:
    last, others = member("c"), [member("a"), member("c")]
    found = hold(last, others, NEW, 1)
    assert found is not None
    assert "default/a is the next" in found.message
    found = hold(last, [*others, member("b", NEW, "Rolling")], NEW, 1)
    assert found is not None
    assert "default/b rolls" in found.message


def test_clusters_that_were_degraded_before_come_last() -> None:
    assert turns(member("a", degraded="CrashLooping"), member("b")) == ["b"]
    assert turns(member("a", degraded="CrashLooping")) == ["a"]


@pytest.mark.parametrize("rollout", ["Created", "Rolling"])
def test_a_cluster_whose_spec_is_not_followed_holds_no_other_up(rollout: str) -> None:
    stuck = member("a", OLD, rollout, degraded="InvalidSpec")
    assert turns(stuck, member("b", degraded="CrashLooping")) == ["b"]
    assert turns(stuck) == ["a"]


def test_a_paused_cluster_waits_and_holds_no_other_up() -> None:
    assert turns(member("a", paused=True), member("b")) == ["b"]
    assert turns(member("a", NEW, "Rolling", paused=True), member("b")) == ["b"]


def test_the_repair_of_a_broken_image_reaches_its_victims_first_and_nothing_halts_them() -> None:
    victim = member("z", NEW, "Rolling", degraded="ImagePullFailed")
    assert turns(member("a"), victim, image=NEWEST) == ["z"]
    unrelated = member("b", OLD, "RolledOut", degraded="Unschedulable")
    assert turns(member("a", NEWEST), unrelated, victim, image=OLD) == ["z"]


def test_a_cluster_whose_status_has_the_image_continues() -> None:
    own = member("z", NEW, "Rolling")
    fleet = [own, member("a", NEW, "Rolling", degraded="CrashLooping")]
    assert hold(own, fleet, NEW, 1) is None


@dataclass
class Simulation:
    """A fleet whose clusters are decided for one after the other, each by what its leader reads."""

    members: dict[tuple[str, str], Member]
    limit: int
    image: str = NEW

    def step(self, index: int, what: str) -> None:
        """Let one thing happen to one cluster."""
        own = sorted(self.members.values(), key=lambda each: each.key)[index % len(self.members)]
        match what:
            case "decide" if own.image != self.image:
                # Each decision by another leader, which has nothing but the statuses.
                before = tuple(self.members.values())
                if hold(own, before, self.image, self.limit) is None:
                    broken = any(m.degraded and m.rolled for m in before if m.image == self.image)
                    assert own.rolling or not broken
                    own = replace(own, image=self.image, rollout=FleetRollout.ROLLING)
            case "complete" if own.rolling and not own.degraded:
                own = replace(own, rollout=FleetRollout.ROLLED_OUT)
            case "break":
                own = replace(own, degraded="CrashLooping")
            case "repair":
                own = replace(own, degraded="")
            case "newest":
                self.image = NEWEST
        self.members[own.key] = own

    @property
    def rolling(self) -> int:
        return sum(each.rolling for each in self.members.values())


STEPS = st.lists(
    st.tuples(
        st.integers(0, 7),
        st.sampled_from(["decide", "decide", "decide", "complete", "break", "repair", "newest"]),
    ),
    max_size=60,
)


@given(steps=STEPS, size=st.integers(1, 8), limit=st.integers(1, 3))
def test_never_more_than_the_limit_roll_and_in_the_end_all_follow(
    steps: list[tuple[int, str]], size: int, limit: int
) -> None:
    fleet = [member(f"c{index}") for index in range(size)]
    simulation = Simulation({each.key: each for each in fleet}, limit)
    for index, what in steps:
        simulation.step(index, what)
        assert simulation.rolling <= limit
    # Once everything is healthy, the fleet follows without anyone's help.
    for index in range(size):
        simulation.step(index, "repair")
    for _ in range(size):
        for what in ("decide", "complete"):
            for index in range(size):
                simulation.step(index, what)
    assert {each.image for each in simulation.members.values()} == {simulation.image}
    assert simulation.rolling == 0


def record(image: str, rollout: str) -> DefaultImageStatus:
    return DefaultImageStatus(image=image, rollout=FleetRollout(rollout))


def with_record(image: str, rollout: str = "RolledOut") -> dict[str, object]:
    return {"defaultImage": {"image": image, "rollout": rollout}}


def recorded(
    own: PartisanCluster, running: str, wanted: str, *others: tuple[str, str]
) -> DefaultImageStatus | None:
    """Return the record where NEW is the default, with these objects of other owners."""
    observation = Observation(START, live={key: {} for key in others})
    return followed_image(own, observation, running, wanted, NEW)


def test_the_record_of_the_image() -> None:
    fresh, known = cluster(), cluster(status=with_record(OLD))
    assert recorded(cluster({"image": "own:1"}), "own:1", NEW) is None
    assert recorded(fresh, "", NEW) == record(NEW, "Created")
    # It may adopt these pods, whatever their image.
    assert recorded(fresh, "", NEW, ("StatefulSet", "ads")) is None
    # Of an earlier operator, which kept no record.
    assert recorded(fresh, NEW, NEW) == record(NEW, "Created")
    assert recorded(fresh, OLD, OLD) == record(OLD, "Created")
    assert recorded(fresh, OLD, NEW) == record(NEW, "Rolling")
    assert recorded(known, OLD, OLD) == record(OLD, "RolledOut")
    assert recorded(known, OLD, NEW) == record(NEW, "Rolling")
    # The previous leader ended between the change and its status.
    assert recorded(known, NEW, NEW) == record(NEW, "Rolling")


def test_members_are_read_alike_from_the_wire_and_from_a_cluster() -> None:
    condition = {
        "type": "Degraded",
        "status": "True",
        "reason": "CrashLooping",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    status = {**with_record(NEW, "Rolling"), "conditions": [condition]}
    for spec, had in (({}, status), ({"paused": True}, {}), ({"paused": False}, {})):
        one = cluster(spec, status=had)
        wire = {"metadata": {"namespace": "default", "name": "ads"}, "spec": spec, "status": had}
        assert read_member(wire) == member_of(one)
    name = {"namespace": "a", "name": "b"}
    assert read_member({"metadata": name, "spec": {"image": "i"}}) is None
    deleted = {**name, "deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert read_member({"metadata": deleted, "spec": {}}) is None
    annotated = {**name, "annotations": {"partisan.dev/fleet-rollout": "ignore"}}
    found = read_member({"metadata": annotated})
    assert found is not None
    assert found.ignored


async def test_a_decision_counts_before_any_status_shows_it() -> None:
    now, lists = 0.0, 0
    listed = [member("ads"), member("b")]

    async def read() -> tuple[Member, ...]:
        nonlocal lists
        lists += 1
        return tuple(listed)

    fleet = Fleet(read, 1, lambda: now)
    own = cluster(status=with_record(OLD))
    first = replace(own, name="a")
    assert await waits(fleet, own) == ""
    # Another one loses its own image, and is the first of the queue from now on.
    listed.insert(0, member("a"))
    now += LIFETIME
    assert await waits(fleet, first) == WAITING
    assert await waits(fleet, own) == ""
    assert lists == 2
    listed[1] = member("ads", NEW, "RolledOut")
    now += LIFETIME
    assert await waits(fleet, replace(own, name="b")) == WAITING
    assert await waits(fleet, first) == ""


async def test_while_the_fleet_cannot_be_listed_clusters_wait_but_those_whose_turn_it_was() -> None:
    now, lists, failure = 0.0, 0, ""

    async def read() -> tuple[Member, ...]:
        nonlocal lists
        lists += 1
        if failure:
            raise KubeError(503, failure)
        return member("a"), member("ads")

    fleet = Fleet(read, 1, lambda: now)
    own = cluster(status=with_record(OLD))
    first = replace(own, name="a")
    assert await waits(fleet, first) == ""
    now, failure = LIFETIME, "etcd is down"
    for _ in range(2):
        found = await fleet.hold(own, NEW)
        assert found is not None
        assert found.reason == WAITING
        assert "cannot be listed (etcd is down)" in found.message
    assert lists == 2
    assert await waits(fleet, first) == ""
    now, failure = 2 * LIFETIME, ""
    found = await fleet.hold(own, NEW)
    assert found is not None
    assert "default/a rolls" in found.message


async def test_without_a_limit_nothing_is_read() -> None:
    async def read() -> tuple[Member, ...]:
        raise AssertionError

    assert await Fleet(read, 0).hold(cluster(status=with_record(OLD)), NEW) is None


async def waits(fleet: Fleet, own: PartisanCluster) -> str:
    """Return the reason why a cluster waits; empty if it does not."""
    found = await fleet.hold(own, NEW)
    return "" if found is None else found.reason


@pytest.mark.parametrize("namespaces", [("default", "other", "excluded"), ()])
async def test_all_clusters_are_listed_in_the_namespaces_or_everywhere(
    namespaces: tuple[str, ...],
) -> None:
    api = FakeApi()
    kube = await api.start()
    for place in ("default", "other", "excluded"):
        put_cluster(api, place, "one")
    put_cluster(api, "other", "with-its-own", image="own:1")
    assert {each.key for each in await members_of(kube, namespaces, "excluded".__eq__)()} == {
        ("default", "one"),
        ("other", "one"),
    }
    assert all("resourceVersion" not in request.query for request in api.log)
    await api.stop()


def put_cluster(api: FakeApi, namespace: str, name: str, **spec: object) -> None:
    path = f"/apis/partisan.dev/v1alpha1/namespaces/{namespace}/partisanclusters/{name}"
    metadata = {"namespace": namespace, "name": name}
    api.put(path, {"kind": KIND, "metadata": metadata, "spec": spec, "status": with_record(OLD)})


def image_in_force(rig: Rig) -> str:
    found: str = rig.api.objects[SET]["spec"]["template"]["spec"]["containers"][0]["image"]
    return found


def restart(rig: Rig, image: str) -> None:
    """Start the operator again, with another default image."""
    fleet = Fleet(
        members_of(rig.tools.kube, ("default",), "excluded".__eq__), 1, clock=lambda: next(clock)
    )
    clock = iter(range(0, 10_000, 10))
    rig.tools = replace(rig.tools, settings=Settings(node_image=image), fleet=fleet)
    rig.loop = ClusterLoop("default", "ads", rig.tools)


async def test_a_cluster_keeps_its_image_until_its_turn_and_says_so(rig: Rig) -> None:
    await rig.converge()
    assert rig.status["defaultImage"] == {"image": OLD, "rollout": "Created"}
    put_cluster(rig.api, "default", "aaa")
    restart(rig, NEW)
    assert await rig.reconcile() == rig.tools.settings.idle_period
    assert image_in_force(rig) == OLD
    waiting = rig.condition("Progressing")
    assert (waiting["status"], waiting["reason"]) == ("False", WAITING)
    assert rig.condition("Ready")["status"] == "True"
    assert WAITING in rig.events()
    # Changes of the spec are followed meanwhile, with the image as it is.
    rig.change({"resources": {"limits": {"memory": "64Mi"}}})
    await rig.reconcile()
    container = rig.api.objects[SET]["spec"]["template"]["spec"]["containers"][0]
    assert (container["image"], container["resources"]["limits"]) == (OLD, {"memory": "64Mi"})

    del rig.api.objects[CLUSTER.replace("/ads", "/aaa")]
    await rig.reconcile()
    assert image_in_force(rig) == NEW
    assert rig.status["defaultImage"] == {"image": NEW, "rollout": "Rolling"}
    rig.bring_up_pods()
    for _ in range(3):
        await rig.reconcile()
    assert rig.status["defaultImage"] == {"image": NEW, "rollout": "RolledOut"}
    assert rig.condition("Progressing")["reason"] == "Settled"


async def test_a_cluster_waits_for_a_degraded_one_also_under_the_next_leader(rig: Rig) -> None:
    await rig.converge()
    put_cluster(rig.api, "default", "aaa")
    broken = rig.api.objects[CLUSTER.replace("/ads", "/aaa")]
    degraded = {"type": "Degraded", "status": "True", "reason": "ImagePullFailed"}
    broken["status"] = {**with_record(NEW, "Rolling"), "conditions": [degraded]}
    for _ in range(2):
        restart(rig, NEW)
        await rig.reconcile()
        assert image_in_force(rig) == OLD
        assert rig.condition("Progressing")["reason"] == HALTED
        assert "default/aaa" in rig.condition("Progressing")["message"]
    broken["metadata"]["annotations"] = {"partisan.dev/fleet-rollout": "ignore"}
    await rig.reconcile()
    assert image_in_force(rig) == NEW


async def test_a_cluster_is_maintained_while_the_fleet_cannot_be_listed(rig: Rig) -> None:
    await rig.converge()
    restart(rig, NEW)
    rig.api.unlisted["partisanclusters"] = 403, "not permitted"
    rig.change({"resources": {"limits": {"memory": "64Mi"}}})
    await rig.reconcile()
    container = rig.api.objects[SET]["spec"]["template"]["spec"]["containers"][0]
    assert (container["image"], container["resources"]["limits"]) == (OLD, {"memory": "64Mi"})
    rig.bring_up_pods()
    for _ in range(2):
        await rig.reconcile()
    assert rig.condition("Progressing")["reason"] == WAITING
    assert "cannot be listed (not permitted" in rig.condition("Progressing")["message"]
    assert rig.condition("Degraded")["status"] == "False"
    del rig.api.unlisted["partisanclusters"]
    await rig.reconcile()
    assert image_in_force(rig) == NEW


@pytest.mark.parametrize(
    "spec",
    [{"pods": {"override": {"spec": {"hostNetwork": True}}}}, {"paused": True}],
    ids=["refused", "paused"],
)
async def test_a_cluster_whose_pods_stay_keeps_its_record_and_takes_no_turn(
    rig: Rig, spec: dict[str, Any]
) -> None:
    await rig.converge()
    put_cluster(rig.api, "default", "z")
    restart(rig, NEW)
    before = rig.api.objects[CLUSTER]["spec"]
    rig.change(spec)
    for _ in range(2):
        await rig.reconcile()
        assert image_in_force(rig) == OLD
        assert rig.status["defaultImage"] == {"image": OLD, "rollout": "Created"}
    paused = spec.get("paused", False)
    assert (rig.condition("Degraded")["status"] == "True") != paused
    assert await waits(rig.tools.fleet, cluster(status=with_record(OLD), name="z")) == ""
    rig.api.objects[CLUSTER]["spec"] = before
    await rig.reconcile()
    assert image_in_force(rig) == OLD
    assert rig.condition("Progressing")["reason"] == WAITING
