"""The page's documents: bounded contents, and patches that reproduce each next document."""

import itertools
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partisan_operator.console import view
from partisan_operator.console.patches import apply, delta
from partisan_operator.console.values import figure, text
from partisan_operator.console.view import details, event, summary
from partisan_operator.models import PartisanClusterStatus
from partisan_operator.observe.observation import Endpoint, Observation, Seen
from partisan_operator.status.announcements import Announcement
from world import START, World, cluster, report

ADS = cluster({"replicas": 3, "workload": {"adCounter": {"impressions": 6}}})
RUNNING = PartisanClusterStatus.model_validate(
    {"workload": {"run": "r1", "phase": "Running", "value": 2**62, "threshold": 6}}
)

leaves = st.one_of(st.booleans(), st.integers(), st.text(), st.lists(st.integers(), max_size=2))
documents = st.dictionaries(
    st.sampled_from("abcd"),
    st.recursive(leaves, lambda inner: st.dictionaries(st.sampled_from("abcd"), inner, max_size=4)),
)
names = st.sampled_from(["ads-0", "ads-1", "ads-2", "ads-3", "gone-7"])
reports = st.builds(
    lambda peers, kind, value, run, joined: report(
        "any",
        active=tuple(peers),
        kind=kind,
        joined=joined,
        incarnation=2**63 - 1,
        channels={"gossip": {"queue_bytes": 2**70}},
        workload={"run": run, "value": value},
    ),
    st.lists(names | st.text(max_size=8), max_size=4),
    st.sampled_from(["hyparview", "xbot", "<script>", "none", ""]),
    st.integers(0, 2**63 - 1),
    st.sampled_from(["r1", "r0"]),
    st.booleans(),
)
observations = st.builds(
    lambda endpoints, answers, seconds: Observation(
        at=START.replace(second=seconds),
        endpoints={
            name: Endpoint(name, f"uid-{name}", "10.0.0.1", ready, zone=zone)
            for name, (ready, zone) in endpoints.items()
        },
        seen={name: Seen(answer, f"uid-{name}", START) for name, answer in answers.items()},
    ),
    st.dictionaries(names, st.tuples(st.booleans(), st.sampled_from(["", "east", "west"]))),
    st.dictionaries(names, reports),
    st.integers(0, 59),
)


def through_wire(document: dict[str, Any]) -> Any:
    # Infinite figures have no JSON form.
    return json.loads(json.dumps(document, allow_nan=False))


@given(documents, documents)
def test_a_patch_leads_from_one_document_to_the_next(before: Any, after: Any) -> None:
    patch = delta(before, after)
    assert json.dumps(apply(before, through_wire(patch)), sort_keys=True) == json.dumps(
        after, sort_keys=True
    )
    assert bool(patch) == (json.dumps(before, sort_keys=True) != json.dumps(after, sort_keys=True))


@given(st.lists(observations, min_size=1, max_size=6))
def test_a_snapshot_and_all_patches_give_the_last_snapshot(history: list[Observation]) -> None:
    documents = [details(ADS, RUNNING, observation, {}, {}) for observation in history]
    held = through_wire(documents[0])
    for before, after in itertools.pairwise(documents):
        held = apply(held, through_wire(delta(before, after)))
    assert held == through_wire(documents[-1])


@given(observations)
def test_names_and_kinds_are_known_whatever_nodes_report(observation: Observation) -> None:
    document = details(ADS, RUNNING, observation, {}, {})
    known = {"ads-0", "ads-1", "ads-2", *observation.endpoints}
    assert set(document["nodes"]) == known
    for link in document["links"]:
        assert set(link.split(" ")) <= known
    assert "<script>" not in json.dumps(document)
    for node in document["nodes"].values():
        assert 0 <= node.get("incarnation", 0) < 2**53
        assert 0 <= node.get("queue_bytes", 0) < 2**53


def test_each_node_has_a_state() -> None:
    def seen(name: str, *, joined: bool) -> Seen:
        return Seen(report(name, joined=joined), "u", START)

    ads = cluster({"replicas": 6})
    observation = Observation(
        at=START,
        endpoints={
            f"ads-{ordinal}": Endpoint(f"ads-{ordinal}", "u", "10.0.0.1", ordinal in (0, 3, 4, 9))
            for ordinal in (0, 1, 2, 3, 4, 9)
        },
        seen={
            "ads-0": seen("ads-0", joined=True),
            "ads-1": seen("ads-1", joined=True),
            "ads-4": seen("ads-4", joined=False),
            "ads-9": seen("ads-9", joined=True),
        },
    )
    nodes = details(ads, PartisanClusterStatus(), observation, {}, {})["nodes"]
    assert {name: node["state"] for name, node in nodes.items()} == {
        "ads-0": "joined",
        "ads-1": "unready",
        "ads-2": "starting",
        "ads-3": "silent",
        "ads-4": "joining",
        "ads-5": "absent",
        "ads-9": "leaving",
    }


def test_the_replicas_values_are_a_band_of_the_current_run() -> None:
    def seen(value: int, run: str = "r1") -> Seen:
        return Seen(report("any", workload={"run": run, "value": value}), "u", START)

    observation = Observation(
        at=START, seen={"ads-0": seen(2), "ads-1": seen(4), "ads-2": seen(99, "r0")}
    )
    band = details(ADS, RUNNING, observation, {}, {})["values"]
    assert (band["count"], band["least"], band["median"], band["greatest"]) == (2, 2, 3, 4)
    alone = replace(observation, seen={"ads-0": seen(2)})
    assert details(ADS, RUNNING, alone, {}, {})["values"]["upper"] == 2
    assert "values" not in details(ADS, RUNNING, Observation(at=START), {}, {})


def test_too_many_links_are_counted_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "MAX_LINKS", 2)
    world = World()
    observation = replace(
        world.observe(),
        seen={
            f"ads-{i}": Seen(report("any", active=("ads-0", "ads-1", "ads-2")), "u", START)
            for i in range(3)
        },
    )
    document = details(ADS, RUNNING, observation, {}, {})
    assert list(document["links"]) == ["ads-0 ads-1", "ads-0 ads-2"]
    assert document["omitted"] == {"nodes": 0, "links": 1}


def test_a_summary_has_the_conditions_with_their_remedies() -> None:
    status = PartisanClusterStatus.model_validate(
        {
            "phase": "Degraded",
            "ready": 2,
            "conditions": [
                {
                    "type": "Degraded",
                    "status": "True",
                    "reason": "NodesSilent",
                    "message": "ads-1 does not answer:\n look",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
            ],
            "workload": {"run": "r1", "phase": "Running", "value": 2**62},
        }
    )
    document = through_wire(summary(ADS, status))
    assert document["nodes"] == {
        "wanted": 3,
        "exist": 0,
        "ready": 2,
        "joined": 0,
        "configured": 0,
    }
    assert document["conditions"]["Degraded"]["message"] == "ads-1 does not answer:  look"
    assert document["run"]["value"] == 2**53 - 1
    assert "overlay" not in document


def test_a_run_has_the_settings_that_its_figures_depend_on() -> None:
    counter = {"impressions": 6, "ads": 2, "incrementInterval": "1500ms"}
    run = summary(cluster({"workload": {"adCounter": counter}}), RUNNING)["run"]
    assert (run["synchronization"], run["ads"]) == ("Delta", 2)
    assert (run["increment_seconds"], run["propagation_seconds"]) == (1.5, 5)
    custom = summary(cluster({"workload": {"custom": {"module": "heartbeat"}}}), RUNNING)["run"]
    assert not {"synchronization", "ads", "increment_seconds"} & custom.keys()


def test_texts_and_figures_are_bounded() -> None:
    assert text("a\x00b\u202ec", 4) == "a b "
    assert figure(float("nan")) is None
    assert figure(float("-inf")) is None
    assert figure(-(2**60)) == 1 - 2**53
    assert figure(1.23456) == 1.235
    made = event(Announcement("Warning", "Reason", "x" * 5000), 1.5)
    assert len(made["message"]) == 2048
