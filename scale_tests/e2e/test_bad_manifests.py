"""What can never work is refused by the API server, with a message that names the field."""

from __future__ import annotations

from typing import Any

import pytest

from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.subject import manifest
from scale_tests.harness.kube import ApiError

DEFAULT = {"name": "default"}
COUNTER = {"impressions": 10, "incrementInterval": "1s", "propagationInterval": "1s"}
ARGUMENT = {"name": "interval", "value": 500}


def counter(**changed: Any) -> dict[str, Any]:
    return {"workload": {"adCounter": {**COUNTER, **changed}}}


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("unknown overlay", {"overlay": {"kind": "Torus"}}, "spec.overlay.kind"),
    ("no replicas", {"replicas": 0}, "spec.replicas"),
    ("too many replicas", {"replicas": 5000}, "spec.replicas"),
    (
        "parameters of another overlay",
        {"overlay": {"kind": "FullMesh", "hyParView": {}}},
        "spec.overlay.hyParView",
    ),
    (
        "more servers than replicas",
        {"replicas": 3, "overlay": {"kind": "ClientServer", "clientServer": {"servers": 4}}},
        "spec.overlay.clientServer.servers",
    ),
    (
        "full mesh of 300 without the override",
        {"replicas": 300, "overlay": {"kind": "FullMesh"}},
        "allowLarge",
    ),
    (
        "views that cannot be filled",
        {"overlay": {"kind": "HyParView", "hyParView": {"activeMin": 7, "activeMax": 6}}},
        "spec.overlay.hyParView.activeMin",
    ),
    (
        "a step of a walk beyond its end",
        {"overlay": {"kind": "XBot", "xBot": {"passiveRandomWalkLength": 7}}},
        "spec.overlay.xBot.passiveRandomWalkLength",
    ),
    (
        "no link that could move",
        {"overlay": {"kind": "XBot", "xBot": {"unbiased": 6}}},
        "spec.overlay.xBot.unbiased",
    ),
    (
        "a lease shorter than a heartbeat",
        {"overlay": {"kind": "HiScamp", "hiScamp": {"lease": "1s"}}},
        "spec.overlay.hiScamp.lease",
    ),
    (
        "more to exchange than there is",
        {"overlay": {"kind": "Cyclon", "cyclon": {"viewSize": 4}}},
        "spec.overlay.cyclon.shuffleSize",
    ),
    ("static without links", {"overlay": {"kind": "Static"}}, "spec.overlay.static"),
    (
        "a pattern and edges",
        {"overlay": {"kind": "Static", "static": {"pattern": "Ring", "edges": [[0, 1]]}}},
        "spec.overlay.static",
    ),
    (
        "an edge from a node to itself",
        {"overlay": {"kind": "Static", "static": {"edges": [[1, 1], [0, 1]]}}},
        "spec.overlay.static.edges",
    ),
    (
        "an edge to a node that is not there",
        {"overlay": {"kind": "Static", "static": {"edges": [[0, 1], [1, 3]]}}},
        "spec.overlay.static.edges",
    ),
    (
        "edges that cannot connect all",
        {"overlay": {"kind": "Static", "static": {"edges": [[0, 1]]}}},
        "spec.overlay.static.edges",
    ),
    (
        "duplicate channel",
        {"channels": [DEFAULT, {"name": "a"}, {"name": "a"}]},
        "spec.channels",
    ),
    ("reserved channel", {"channels": [DEFAULT, {"name": "overlay"}]}, "spec.channels"),
    ("no default channel", {"channels": [{"name": "a"}]}, "default"),
    (
        "no connection",
        {"channels": [{"name": "default", "parallelism": 0}]},
        "spec.channels[0].parallelism",
    ),
    (
        "a channel that is monotonic and acknowledged",
        {"channels": [DEFAULT, {"name": "a", "monotonic": True, "acknowledged": True}]},
        "spec.channels[1].acknowledged",
    ),
    (
        "a channel that holds next to nothing",
        {"channels": [{"name": "default", "queueLimit": "1Ki"}]},
        "spec.channels[0].queueLimit",
    ),
    (
        "a channel that holds more than a machine",
        {"channels": [{"name": "default", "queueLimit": 2**40}]},
        "spec.channels[0].queueLimit",
    ),
    (
        "a variable that the operator sets",
        {"pods": {"env": [{"name": "POD_IP", "value": "10.0.0.1"}]}},
        "spec.pods.env[0].name",
    ),
    (
        "a variable that the node reads",
        {"pods": {"env": [{"name": "PARTISAN_CONFIG", "value": "x"}]}},
        "spec.pods.env[0].name",
    ),
    (
        "a variable that no shell would take",
        {"pods": {"env": [{"name": "1=2", "value": "x"}]}},
        "spec.pods.env[0].name",
    ),
    (
        "a variable twice",
        {"pods": {"env": [{"name": "A", "value": "x"}, {"name": "A", "value": "y"}]}},
        "spec.pods.env",
    ),
    ("a variable without a value", {"pods": {"env": [{"name": "A"}]}}, "spec.pods.env[0]"),
    (
        "a variable from nowhere",
        {"pods": {"env": [{"name": "A", "valueFrom": {}}]}},
        "spec.pods.env[0].valueFrom",
    ),
    ("variables from nowhere", {"pods": {"envFrom": [{}]}}, "spec.pods.envFrom[0]"),
    (
        "a label of the operator's",
        {"pods": {"labels": {"partisan.dev/cluster": "other"}}},
        "spec.pods.labels",
    ),
    (
        "another label of the operator's",
        {"pods": {"labels": {"app.kubernetes.io/name": "mine"}}},
        "spec.pods.labels",
    ),
    (
        "an annotation of the operator's",
        {"pods": {"annotations": {"partisan.dev/config-hash": "x"}}},
        "spec.pods.annotations",
    ),
    ("an unknown mode", {"metrics": {"podMonitor": "Sometimes"}}, "spec.metrics.podMonitor"),
    ("a scrape too often", {"metrics": {"interval": "10ms"}}, "spec.metrics.interval"),
    ("no seed", {"discovery": {"seeds": 0}}, "spec.discovery.seeds"),
    ("negative impressions", counter(impressions=-1), "spec.workload.adCounter.impressions"),
    ("no ads", counter(ads=0), "spec.workload.adCounter.ads"),
    (
        "two workloads",
        {"workload": {"adCounter": COUNTER, "custom": {"module": "rumours"}}},
        "set adCounter or custom, not both",
    ),
    (
        "a module that is no atom",
        {"workload": {"custom": {"module": "Elixir.Rumours"}}},
        "spec.workload.custom.module",
    ),
    (
        "the same argument twice",
        {"workload": {"custom": {"module": "rumours", "arguments": [ARGUMENT, ARGUMENT]}}},
        "spec.workload.custom.arguments[1]",
    ),
    (
        "a duration without a unit",
        counter(incrementInterval="10"),
        "spec.workload.adCounter.incrementInterval",
    ),
    (
        "a duration of words",
        counter(propagationInterval="soon"),
        "spec.workload.adCounter.propagationInterval",
    ),
    (
        "a duration of zero",
        counter(propagationInterval="0s"),
        "spec.workload.adCounter.propagationInterval",
    ),
    ("unknown pull policy", {"imagePullPolicy": "Sometimes"}, "spec.imagePullPolicy"),
    ("text for a number", {"replicas": "three"}, "spec.replicas"),
]


@pytest.mark.parametrize(("spec", "field"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_a_bad_manifest_is_refused_and_nothing_is_created(
    new_subject: NewSubject, spec: dict[str, Any], field: str
) -> None:
    subject = new_subject("bad")
    body = manifest("bad", 3)
    body["spec"].update(spec)
    with pytest.raises(ApiError) as refused:
        subject.apply(body)
    assert refused.value.status in (400, 422)
    assert field in refused.value.message
    assert subject.cluster.find(subject.path) is None
    assert subject.children() == []


def test_a_misspelt_field_is_refused_by_kubectl(new_subject: NewSubject) -> None:
    subject = new_subject("bad")
    with pytest.raises(ApiError) as refused:
        subject.cluster.request(
            "POST",
            subject.path.rpartition("/")[0],
            query={"fieldValidation": "Strict"},
            body=manifest("bad", 3, overlai={"kind": "FullMesh"}),
        )
    assert "spec.overlai" in refused.value.message


def test_what_cannot_change_is_refused_and_the_cluster_runs_on(new_subject: NewSubject) -> None:
    subject = new_subject("fixed")
    subject.apply(manifest("fixed", 3, workload=None))
    with pytest.raises(ApiError, match=r"spec\.replicas"):
        subject.patch(replicas=0)
    assert subject.wait_steady().joined == 3
