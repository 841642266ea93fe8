"""TLS: the plans for cert-manager's certificates, for the operator's own, and as a whole."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from partisan_operator.children import certificate, desired_children, naming
from partisan_operator.decide.actions import Apply, Plan
from partisan_operator.decide.certificates import certificate_plan
from partisan_operator.decide.reconcile import desired, plan
from partisan_operator.decide.rotation import MakeAuthority, Publish
from partisan_operator.models import PartisanClusterStatus
from partisan_operator.models.problem import Reason
from partisan_operator.models.status import ClusterCaStatus, ConditionType, Rotation
from partisan_operator.observe.certificates import (
    AuthoritySecret,
    Certificate,
    Issued,
    IssuedSecret,
    NodesSecret,
    Store,
)
from partisan_operator.observe.observation import Observation
from partisan_operator.observe.report import TlsReport
from partisan_operator.status.announcements import announcements
from partisan_operator.status.diagnosis import not_issued
from partisan_operator.status.run import Ledger
from partisan_operator.status.status import Findings, status_of
from world import IMAGE, INSTALLATION, START, World, cluster

OWN = {"security": {"tls": {"clusterCa": {}}}}
ISSUED = {"security": {"tls": {"issuerRef": {"name": "company", "kind": "ClusterIssuer"}}}}
YEAR = START + timedelta(days=365)
ROOT = Certificate("sha256:root", "sha256:root", YEAR)
SHOWN = Certificate(
    "sha256:leaf", "sha256:root", START + timedelta(days=90), frozenset({"ads.default.svc"})
)
STORE = Store(AuthoritySecret("1", ROOT), NodesSecret("2", SHOWN, (ROOT,)))
SECRET = IssuedSecret("secret-uid", "ads", (), owned=True)


def planned(spec: dict[str, Any], tls: Store | Issued, **changed: Any) -> Plan:
    made = cluster(spec)
    observation = replace(World().observe(), tls=tls, **changed)
    return plan(made, desired(made, INSTALLATION), observation, INSTALLATION)


def applied(actions: Plan) -> list[str]:
    return [action.child.kind for action in actions.actions if isinstance(action, Apply)]


def live_certificate(owner: str = "cluster-uid", **status: Any) -> dict[str, Any]:
    wanted = certificate.build(cluster(ISSUED))
    assert wanted is not None
    metadata = wanted.manifest["metadata"]
    owners = [entry | {"uid": owner} for entry in metadata["ownerReferences"]]
    return {**wanted.manifest, "metadata": {**metadata, "ownerReferences": owners}, **status}


def test_the_certificate_requested_from_cert_manager() -> None:
    wanted = certificate.build(cluster(ISSUED))
    assert wanted is not None
    assert wanted.manifest["apiVersion"] == "cert-manager.io/v1"
    assert wanted.manifest["spec"] == {
        "secretName": "ads-tls",
        "secretTemplate": {"labels": naming.labels("ads")},
        "dnsNames": ["ads.default.svc"],
        "commonName": "ads.default.svc",
        "usages": ["digital signature", "server auth", "client auth"],
        "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
        "issuerRef": {"name": "company", "kind": "ClusterIssuer", "group": "cert-manager.io"},
    }
    assert wanted.manifest["metadata"]["ownerReferences"][0]["uid"] == "cluster-uid"
    assert certificate.build(cluster(OWN)) is None
    assert certificate.build(cluster({})) is None


def test_a_name_too_long_for_a_subject_is_in_the_extension_alone() -> None:
    tls = {"issuerRef": {"name": "company"}, "serverName": f"{'a' * 63}.example.org"}
    wanted = certificate.build(cluster({"security": {"tls": tls}}))
    assert wanted is not None
    assert "commonName" not in wanted.manifest["spec"]
    assert wanted.manifest["spec"]["dnsNames"] == [tls["serverName"]]


@pytest.mark.parametrize(("spec", "tls"), [(OWN, Store()), (ISSUED, Issued())])
def test_no_pod_is_made_before_its_certificate(spec: dict[str, Any], tls: Store | Issued) -> None:
    first = planned(spec, tls)
    assert "StatefulSet" not in applied(first)
    assert "ConfigMap" in applied(first)
    assert first.tls.unsettled


@pytest.mark.parametrize(
    ("spec", "tls"), [(OWN, STORE), (ISSUED, Issued(live=live_certificate(), secret=SECRET))]
)
def test_pods_are_created_once_it_exists(spec: dict[str, Any], tls: Store | Issued) -> None:
    found = planned(spec, tls)
    assert "StatefulSet" in applied(found)
    assert not found.tls.unsettled
    assert found.problem is None


def test_existing_statefulsets_are_maintained_without_it() -> None:
    world = World()
    made = cluster(OWN)
    children = desired_children(made, IMAGE)
    for child in children.stateful_sets:
        world._act(Apply(child))
    changed = cluster({**OWN, "image": "node:2"})
    found = plan(
        changed, desired(changed, INSTALLATION), replace(world.observe(), tls=Store()), INSTALLATION
    )
    assert "StatefulSet" in applied(found)


def test_the_operators_own_steps_follow_one_another() -> None:
    assert MakeAuthority(None) in planned(OWN, Store()).actions
    alone = Store(authority=STORE.authority)
    assert Publish((ROOT,), "sha256:root", None) in planned(OWN, alone).actions
    # A certificate without its authority is incomplete, but does not prevent the start.
    assert planned(OWN, Store(nodes=STORE.nodes)).tls.startable


@pytest.mark.parametrize("paused", [True, False])
def test_a_pause_stops_certificates_and_a_rejected_scale_down_does_not(paused: bool) -> None:
    made = cluster({**OWN, "replicas": 1, "paused": paused})
    observation = replace(complete().observe(), tls=Store(authority=STORE.authority))
    # The remaining one is not in the overlay.
    seen = {name: entry for name, entry in observation.seen.items() if name != "ads-0"}
    observation = replace(observation, seen=seen)
    found = plan(made, desired(made, INSTALLATION), observation, INSTALLATION)
    assert found.problem is not None
    assert found.problem.reason is Reason.SCALE_DOWN_REFUSED
    assert any(isinstance(action, Publish) for action in found.actions) is not paused


def test_the_secret_of_cert_manager_is_deleted_with_the_cluster() -> None:
    first = planned(ISSUED, Issued())
    assert "Certificate" in applied(first)
    foreign = replace(SECRET, owned=False)
    found = planned(ISSUED, Issued(live=live_certificate(), secret=foreign))
    (adoption,) = [
        action.child.manifest
        for action in found.actions
        if isinstance(action, Apply) and action.child.kind == "Secret"
    ]
    assert adoption["metadata"]["uid"] == "secret-uid"
    assert adoption["metadata"]["ownerReferences"][0]["controller"] is False
    assert adoption.keys() == {"apiVersion", "kind", "metadata"}


def test_a_missing_cert_manager_blocks_nothing_else_and_is_reported() -> None:
    found = planned(ISSUED, Issued(refusal="HTTP 404: 404 page not found"))
    assert found.problem is not None
    assert found.problem.reason is Reason.CERT_MANAGER_UNAVAILABLE
    assert "Install cert-manager" in found.problem.message
    assert "Certificate" not in applied(found)
    assert "ConfigMap" in applied(found)
    # It may be gone after it has done its work.
    later = planned(ISSUED, Issued(refusal="HTTP 404: 404 page not found", secret=SECRET))
    assert "StatefulSet" in applied(later)


@pytest.mark.parametrize(
    ("spec", "tls", "kind"),
    [
        (OWN, replace(STORE, foreign=("ads-tls",)), "Secret ads-tls"),
        (ISSUED, Issued(live=live_certificate(owner="another")), "Certificate ads"),
        (ISSUED, Issued(secret=replace(SECRET, certificate="")), "Secret ads-tls"),
    ],
)
def test_foreign_objects_are_left_alone(
    spec: dict[str, Any], tls: Store | Issued, kind: str
) -> None:
    found = planned(spec, tls)
    assert found.actions == ()
    assert found.problem is not None
    assert found.problem.reason is Reason.NAME_CONFLICT
    assert found.problem.message.startswith(kind)


@pytest.mark.parametrize(
    ("tls", "said"),
    [
        (Issued(), "cert-manager is about to write it"),
        (Issued(live=live_certificate()), "cert-manager has not processed it yet"),
        (
            Issued(
                live=live_certificate(
                    status={
                        "conditions": [
                            {"type": "Ready", "status": "False", "message": "no such issuer"}
                        ]
                    }
                )
            ),
            "no such issuer. See kubectl describe certificates.cert-manager.io ads",
        ),
        (Issued(secret=replace(SECRET, missing=("ca.crt",))), "has no ca.crt"),
    ],
)
def test_the_cause_of_a_missing_certificate_is_reported(tls: Issued, said: str) -> None:
    found = certificate_plan(cluster(ISSUED), Observation(at=START, tls=tls))
    assert not found.startable
    assert said in found.waiting
    assert not_issued(found.waiting, 5.0) is None
    problem = not_issued(found.waiting, 30.0)
    assert problem is not None
    assert problem.reason is Reason.CERTIFICATE_NOT_ISSUED
    assert said in problem.message
    assert not_issued("", 30.0) is None


def test_the_observed_state_of_a_cert_manager_secret() -> None:
    secret = {
        "metadata": {
            "uid": "u",
            "annotations": {"cert-manager.io/certificate-name": "ads"},
            "ownerReferences": [{"uid": "cluster-uid"}],
        },
        "data": {"tls.crt": "eA==", "tls.key": "eA==", "ca.crt": ""},
    }
    assert IssuedSecret.of(secret, "cluster-uid") == IssuedSecret("u", "ads", ("ca.crt",), True)
    assert not IssuedSecret.of(secret, "another").owned


def viewed(store: Store, *loaded: str) -> PartisanClusterStatus:
    """Return the status of three nodes, of which some use what the Secret holds."""
    made = cluster(OWN)
    using = TlsReport(certificate=SHOWN.fingerprint, authorities=(ROOT.fingerprint,))
    observation = replace(complete().observe(), tls=store)
    seen = {
        name: replace(entry, report=entry.report.model_copy(update={"tls": using}))
        if name in loaded
        else entry
        for name, entry in observation.seen.items()
    }
    observation = replace(observation, seen=seen)
    todo = Plan((), 0, None, 3, None, certificate_plan(made, observation))
    return status_of(made, Findings(observation, todo, Ledger()))[0]


def complete() -> World:
    """Return three nodes that have joined."""
    world, desired = World(), desired_children(cluster(OWN), IMAGE)
    for child in (*desired.foundations, *desired.stateful_sets):
        world._act(Apply(child))
    for _ in range(2):
        world.step()
    return world


def test_the_status_says_how_far_nodes_follow() -> None:
    status = viewed(STORE, "ads-0", "ads-2")
    assert status.cluster_ca == ClusterCaStatus(
        rotation=Rotation.SETTLED,
        loaded=2,
        certificate_expires_at="2026-04-01T00:00:00.000Z",
        authority_expires_at="2027-01-01T00:00:00.000Z",
    )


def test_a_rotation_is_progress_and_names_the_nodes_behind() -> None:
    new = Certificate("sha256:new", "sha256:new", YEAR)
    both = replace(STORE, authority=AuthoritySecret("3", new))
    both = replace(both, nodes=NodesSecret("4", SHOWN, (ROOT, new)))
    progressing = viewed(both, "ads-0").condition(ConditionType.PROGRESSING)
    assert progressing is not None
    assert (progressing.status, progressing.reason) == ("True", "RotatingAuthority")
    assert "0 of 3 nodes trust the new authority" in progressing.message
    assert "ads-" in progressing.message


def announced(before: ClusterCaStatus, after: ClusterCaStatus) -> list[str]:
    old, new = (PartisanClusterStatus(cluster_ca=entry) for entry in (before, after))
    return [entry.reason for entry in announcements(old, new)]


def test_certificate_events_and_status_for_people() -> None:
    first = ClusterCaStatus(
        certificate_expires_at="2026-04-01T00:00:00Z", authority_expires_at="2027-01-01T00:00:00Z"
    )
    both = first.model_copy(update={"rotation": Rotation.DISTRIBUTING})
    renewed = first.model_copy(update={"certificate_expires_at": "2026-05-01T00:00:00Z"})
    retiring = first.model_copy(update={"rotation": Rotation.RETIRING})
    assert announced(ClusterCaStatus(), first) == []
    assert announced(first, both) == ["AuthorityRotationStarted"]
    assert announced(first, renewed) == ["CertificateRenewed"]
    assert announced(retiring, first) == ["AuthorityRotated"]
    assert announced(first, first) == []
