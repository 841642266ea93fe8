"""The rotation of a cluster's own authority: order, deadlines, and any initial state."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partisan_operator.decide.rotation import MakeAuthority, Outlook, Publish
from partisan_operator.models.status import Rotation
from partisan_operator.observe.certificates import AuthoritySecret, Certificate
from rotation_cluster import DAY, POLICY, Cluster, settled
from world import START


def authority(cluster: Cluster) -> str:
    assert cluster.store.authority is not None
    assert cluster.store.authority.certificate is not None
    return cluster.store.authority.certificate.fingerprint


def shown(cluster: Cluster) -> Certificate:
    assert cluster.store.nodes is not None
    assert cluster.store.nodes.certificate is not None
    return cluster.store.nodes.certificate


def trusted(cluster: Cluster) -> list[str]:
    assert cluster.store.nodes is not None
    return [one.fingerprint for one in cluster.store.nodes.trusted]


def test_the_authority_is_created_before_the_certificate() -> None:
    cluster = Cluster(nodes={"ads-0": None})
    assert cluster.act() == MakeAuthority(None)
    assert isinstance(cluster.act(), Publish)
    assert cluster.act() is None
    assert cluster.observe().rotation is Rotation.SETTLED
    assert cluster.observe().behind == ("ads-0",)
    assert trusted(cluster) == [authority(cluster)] == [shown(cluster).issuer]


def test_a_certificate_is_renewed_in_time_by_the_same_authority() -> None:
    cluster = settled()
    first, signer = shown(cluster), authority(cluster)
    cluster.now = first.not_after - POLICY.renew_before - timedelta(seconds=1)
    assert cluster.act() is None
    cluster.now += timedelta(seconds=1)
    cluster.settle()
    assert shown(cluster).not_after == cluster.now + POLICY.certificate_duration
    assert shown(cluster).issuer == signer == authority(cluster)


def test_an_authority_is_replaced_step_by_step_each_when_all_nodes_have_followed() -> None:
    cluster = settled()
    old = authority(cluster)
    cluster.now += POLICY.duration - POLICY.certificate_duration
    # The certificate has been renewed meanwhile, by an authority that was to last as long.
    cluster.store = replace(
        cluster.store,
        nodes=replace(
            cluster.store.nodes,
            certificate=replace(shown(cluster), not_after=cluster.now + 60 * DAY),
        ),
    )
    assert isinstance(cluster.act(), MakeAuthority)
    new = authority(cluster)
    for expected, rotation in (
        ((old, {old, new}), Rotation.DISTRIBUTING),
        ((new, {old, new}), Rotation.RETIRING),
        ((new, {new}), Rotation.SETTLED),
    ):
        assert isinstance(cluster.act(), Publish)
        assert (shown(cluster).issuer, set(trusted(cluster))) == expected
        *first, last = cluster.nodes
        for node in first:
            cluster.load(node)
            assert cluster.connects()
        assert cluster.act() is None, "a node has not followed yet"
        assert cluster.observe().rotation is rotation
        assert cluster.observe().behind == (last,)
        cluster.load(last)
        assert cluster.connects()
    assert cluster.act() is None


def test_a_lost_authority_is_replaced_like_any_other() -> None:
    cluster = settled()
    old = authority(cluster)
    cluster.store = replace(cluster.store, authority=None)
    cluster.settle()
    assert authority(cluster) != old
    assert trusted(cluster) == [authority(cluster)]


def test_an_overdue_certificate_does_not_wait_for_ever() -> None:
    cluster = settled()
    cluster.nodes["ads-9"] = None  # it never reports its certificate
    cluster.store = replace(cluster.store, authority=None)
    cluster.act()
    cluster.act()
    cluster.now = shown(cluster).not_after - POLICY.renew_before / 2 - timedelta(seconds=1)
    assert cluster.act() is None
    assert cluster.observe().behind
    cluster.now += timedelta(seconds=1)
    secret = cluster.store.nodes
    assert cluster.act() == Publish(secret.trusted, authority(cluster), secret.version)
    # The previous authority is trusted until its end: some node may still use it.
    assert cluster.act() is None
    assert len(trusted(cluster)) == 2


@pytest.mark.parametrize(
    "spoilt",
    [
        {"certificate": None},
        {"certificate": None, "trusted": ()},
        {"certificate": Certificate("x", "", START + 90 * DAY, frozenset({POLICY.name}))},
        {"certificate": Certificate("x", "ca-1", START + 90 * DAY, frozenset({"other"}))},
    ],
)
def test_an_unusable_certificate_is_replaced(spoilt: dict[str, object]) -> None:
    cluster = settled()
    cluster.store = replace(cluster.store, nodes=replace(cluster.store.nodes, **spoilt))
    cluster.settle()
    assert shown(cluster).issuer == authority(cluster)
    assert POLICY.name in shown(cluster).names
    assert trusted(cluster) == [authority(cluster)]


def test_an_authority_without_its_key_is_replaced() -> None:
    cluster = settled()
    cluster.store = replace(cluster.store, authority=AuthoritySecret("spoilt", None))
    assert cluster.act() == MakeAuthority("spoilt")


def test_all_certificates_ended_while_no_operator_ran() -> None:
    cluster = settled()
    cluster.now += 2 * POLICY.duration
    cluster.settle()
    assert shown(cluster).not_after > cluster.now
    assert trusted(cluster) == [authority(cluster)]


EVENTS = st.one_of(
    st.just("act"),
    st.just("lose the authority"),
    st.just("days pass"),
    st.tuples(st.just("load"), st.integers(0, 4)),
)


@given(st.lists(EVENTS, max_size=60))
def test_nodes_always_connect_and_the_rotation_completes(events: list[object]) -> None:
    """Nodes follow in any order, and the authority is lost at any time."""
    cluster = settled(nodes=5)
    for event in events:
        match event:
            case "act":
                cluster.act()
            case "lose the authority":
                cluster.store = replace(cluster.store, authority=None)
            case "days pass":
                cluster.now += 5 * DAY
            case ("load", int(node)):
                cluster.load(f"ads-{node}")
        assert cluster.overdue or cluster.connects()
    cluster.settle()
    assert cluster.connects()
    assert trusted(cluster) == [authority(cluster)]
    assert shown(cluster).not_after > cluster.now
    assert cluster.observe() == Outlook(None, Rotation.SETTLED, ())


@given(st.lists(st.integers(1, 14), min_size=1, max_size=120))
def test_no_certificate_ends_under_an_operator_that_runs_every_other_week(
    pauses: list[int],
) -> None:
    cluster = settled()
    for days in pauses:
        cluster.now += days * DAY
        cluster.settle()
        assert cluster.connects()
        left = shown(cluster).not_after - cluster.now
        assert left > POLICY.renew_before
        assert not cluster.overdue
