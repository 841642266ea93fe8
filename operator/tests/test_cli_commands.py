"""The commands of the plugin, against recorded answers of an API server."""

from __future__ import annotations

import base64
import json
import tarfile
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from fake_kubectl import CLUSTERS, CORE, NAMESPACE, NOW, TOKEN, FakeKubectl, written
from partisan_operator.cli import parser
from partisan_operator.cli.access import CommandError
from partisan_operator.cli.commands import rollout, top
from partisan_operator.cli.kubectl import KubectlError
from partisan_operator.tls import mint


@pytest.fixture
def api() -> FakeKubectl:
    return FakeKubectl()


def run(api: FakeKubectl, *words: str, **settings: Any) -> tuple[int, str]:
    """Run a command line; return the exit status and the output."""
    arguments, context = parser.build().parse_args(words), api.context()
    status: int = arguments.run(context, arguments, **settings)
    return status, written(context)


def test_a_well_cluster_has_nothing_wrong_and_a_next_step(api: FakeKubectl) -> None:
    status, text = run(api, "status", "ads")
    assert status == 0
    assert "ads in staging, 1h0m old" in text
    assert "4 wanted, 4 exist, 4 ready, 4 joined, 4 up to date; 1 restart" in text
    assert "HyParView: 1 component, 0 isolated, 4 links, mean degree 2.0" in text
    assert "Nothing is wrong." in text
    assert f"kubectl partisan -n {NAMESPACE} top ads" in text


def test_the_operators_diagnosis_is_what_is_wrong(api: FakeKubectl) -> None:
    api.set_condition("Degraded", "True", "NodesSilent", "1 ready pods do not answer")
    status, text = run(api, "status", "ads")
    assert status == 3
    assert "NodesSilent: 1 ready pods do not answer" in text
    assert f"kubectl partisan -n {NAMESPACE} graph ads" in text


def test_pods_that_fail_while_the_operator_is_away_are_diagnosed(api: FakeKubectl) -> None:
    waiting = {"reason": "ImagePullBackOff", "message": "no such image"}
    api.pods["ads-1"]["status"] = {"containerStatuses": [{"state": {"waiting": waiting}}]}
    status, text = run(api, "status", "ads")
    assert status == 3
    assert "ImagePullFailed: Pod ads-1" in text
    assert "spec.image" in text
    assert f"kubectl partisan -n {NAMESPACE} describe node ads-1" in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(
    ("reason", "command"),
    [
        ("CrashLooping", "logs ads --node ads-3"),
        ("ConfigurationRefused", "logs ads"),
        ("OverlayPartitioned", "graph ads"),
        ("QuotaExceeded", "describe node ads-3"),
    ],
)
def test_the_next_step_depends_on_what_is_wrong(
    api: FakeKubectl, reason: str, command: str
) -> None:
    waiting = {"reason": "CrashLoopBackOff", "message": "back-off"}
    api.pods["ads-3"]["status"] = {"containerStatuses": [{"state": {"waiting": waiting}}]}
    api.set_condition("Degraded", "True", reason, "what the operator says")
    _, text = run(api, "status", "ads")
    assert text.splitlines()[-1] == f"Next     kubectl partisan -n {NAMESPACE} {command}"


def test_pods_that_start_are_no_trouble_while_the_cluster_forms(api: FakeKubectl) -> None:
    api.pods["ads-1"]["status"] = {"phase": "Pending"}
    api.set_condition("Progressing", "True", "Forming", "3 of 4 nodes have joined")
    status, text = run(api, "status", "ads")
    assert status == 0
    assert "Nothing is wrong so far: 3 of 4 nodes have joined." in text
    assert "rollout status ads" in text


def test_an_operator_that_does_not_look_is_what_to_see_to(api: FakeKubectl) -> None:
    api.cluster["metadata"]["generation"] = 3
    _, text = run(api, "status", "ads")
    assert "The operator has not looked at the newest spec yet" in text
    assert "app.kubernetes.io/component=operator" in text


def test_a_misspelt_name_is_one_line_with_the_right_one(api: FakeKubectl) -> None:
    with pytest.raises(CommandError, match=r"'adz' in namespace staging: did you mean ads\?$"):
        run(api, "status", "adz")


def test_an_unknown_name_is_one_line_with_those_there_are(api: FakeKubectl) -> None:
    with pytest.raises(CommandError, match=r"there is ads$"):
        run(api, "status", "zebra")
    api.answers[CLUSTERS] = {"items": []}
    with pytest.raises(CommandError, match="choose a namespace with -n"):
        run(api, "status", "zebra")


def test_a_missing_definition_says_to_install_the_chart(api: FakeKubectl) -> None:
    api.answers[CLUSTERS] = "Error from server (NotFound): the server could not find it"
    with pytest.raises(CommandError, match="install the operator's chart"):
        run(api, "top", "nothing")


def test_a_spec_of_another_version_names_the_field(api: FakeKubectl) -> None:
    api.cluster["spec"]["overlay"]["kind"] = "Telepathy"
    with pytest.raises(CommandError, match=r"spec\.overlay\.kind: .* another version"):
        run(api, "status", "ads")


def test_a_refused_request_stays_what_it_is(api: FakeKubectl) -> None:
    api.answers[CLUSTERS] = 'Error from server (Forbidden): User "u" cannot list'
    with pytest.raises(KubectlError, match="cannot list"):
        run(api, "status", "zebra")


def test_the_graph_in_the_terminal_lists_neighbours(api: FakeKubectl) -> None:
    del api.reports["ads-3"]
    _, text = run(api, "graph", "ads")
    assert "ads: 3 nodes, 2 links, 1 component, 0 isolated, mean degree 1.3" in text
    assert "ads-0  1       ads-1" in text
    assert "ads-3 did not answer: no route" in text


def test_the_graph_as_dot(api: FakeKubectl) -> None:
    _, text = run(api, "graph", "ads", "-o", "dot")
    assert text.startswith('graph "ads" {')
    assert '"ads-0" -- "ads-3";' in text
    assert text.count("--") == 4


def test_the_graph_as_a_file_of_svg(api: FakeKubectl, tmp_path: Path) -> None:
    _, text = run(api, "graph", "ads", "-o", "svg", "-f", str(tmp_path / "ads.svg"))
    assert "4 nodes, 4 links" in text
    root = ElementTree.parse(tmp_path / "ads.svg").getroot()
    names = [child.tag.rpartition("}")[2] for child in root.iter()]
    assert (names.count("circle"), names.count("line")) == (4, 4)


def test_no_answer_from_any_node_is_one_line(api: FakeKubectl) -> None:
    api.reports.clear()
    with pytest.raises(CommandError, match=r"no node of ads answers, ads-0 .*no route"):
        run(api, "graph", "ads")


def test_a_node_that_calls_itself_by_anothers_name_is_not_believed(api: FakeKubectl) -> None:
    api.reports["ads-3"] = api.reports["ads-2"]
    _, text = run(api, "graph", "ads", "-o", "text")
    assert "ads-3 did not answer: it calls itself 'ads-2'" in text


def test_top_shows_rates_between_two_looks(api: FakeKubectl) -> None:
    now = NOW
    context = replace(api.context(), now=lambda: now)

    def sleep(seconds: float) -> None:
        nonlocal now
        now += timedelta(seconds=seconds)
        for report in api.reports.values():
            report["channels"]["default"]["sent_messages"] += 20

    arguments = parser.build().parse_args(["top", "ads", "--count", "2"])
    assert top.run(context, arguments, sleep=sleep) == 0
    text = written(context)
    rows = [line.split() for line in text.splitlines() if line.startswith("default")]
    # Four nodes, each with 20 messages more every two seconds.
    assert [(row[1], row[4]) for row in rows] == [("40.0", "120"), ("40.0", "200")]


def test_a_report_is_a_page_and_a_picture(api: FakeKubectl, tmp_path: Path) -> None:
    run(api, "report", "ads", "-d", str(tmp_path / "new" / "ads"))
    page = (tmp_path / "new" / "ads" / "report.md").read_text()
    assert "| all ready | 2026-01-01T00:00:04.500Z | 4.5 s |" in page
    assert "![The overlay](overlay.svg)" in page
    assert "partisan 0.1.0 on OTP 25" in page
    assert "Pod/ads-1 Unhealthy: not ready yet" in page
    assert "adsorb" not in page
    assert (tmp_path / "new" / "ads" / "overlay.svg").exists()


def test_a_change_of_the_overlay_is_checked_before_it_is_made(api: FakeKubectl) -> None:
    _, text = run(api, "overlay", "set", "ads", "cyclon", "viewSize=8", "shuffleInterval=5s")
    patches = [words for words in api.commands if words[0] == "patch"]
    assert ["--dry-run=server" in words for words in patches] == [True, False]
    (patch,) = api.patches
    overlay = patch["spec"]["overlay"]
    assert overlay["kind"] == "Cyclon"
    assert overlay["cyclon"] == {"viewSize": 8, "shuffleInterval": "5s"}
    assert overlay["hyParView"] is None
    assert text.startswith("ads: HyParView activeMax=6 ")
    assert "\n  -> Cyclon viewSize=8 shuffleInterval=5s\n" in text
    assert f"kubectl partisan -n {NAMESPACE} rollout status ads" in text


def test_a_dry_run_changes_nothing(api: FakeKubectl) -> None:
    _, text = run(api, "overlay", "set", "ads", "XBot", "--dry-run")
    assert not api.patches
    assert "Nothing was changed" in text


def test_what_the_api_server_refuses_is_told_in_its_words(api: FakeKubectl) -> None:
    api.refusal = (
        'The PartisanCluster "ads" is invalid: spec.overlay.hyParView.activeMin: Invalid value:'
        " 9: activeMin must not exceed activeMax: lower activeMin or raise activeMax"
    )
    refused = r"^refused, nothing was changed: spec\.overlay\.hyParView\.activeMin.*raise activeMax"
    with pytest.raises(CommandError, match=refused):
        run(api, "overlay", "set", "ads", "HyParView", "activeMin=9")
    assert not api.patches


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["HyparVew"], r"no overlay 'HyparVew' \(did you mean HyParView\?\)"),
        (["XBot", "activemax=3"], r"XBot has no 'activemax' \(did you mean activeMax\?\)"),
        (["XBot", "activeMax"], "'activeMax' is no parameter: write key=value"),
        (["XBot", "activeMax=1"], "XBot: activeMax: Input should be greater than or equal to 2"),
        (["XBot", "activeMax=many"], "XBot: activeMax: Input should be a valid integer"),
    ],
)
def test_a_bad_overlay_names_the_fault(api: FakeKubectl, words: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        run(api, "overlay", "set", "ads", *words)
    assert not api.commands


def test_pause_and_resume_change_one_field(api: FakeKubectl) -> None:
    assert run(api, "pause", "ads") == (0, "ads paused\n")
    assert run(api, "resume", "ads") == (0, "ads was resumed already\n")
    assert api.patches == [{"spec": {"paused": True}}]


def test_a_rollout_is_followed_to_its_end(api: FakeKubectl) -> None:
    api.set_condition("Progressing", "True", "RollingOut", "3 pods are of an earlier template")
    api.status["updated"] = 1

    def sleep(_: float) -> None:
        api.set_condition("Progressing", "False", "Settled", "The cluster is as asked")
        api.status["updated"] = 4

    status, text = run(api, "rollout", "status", "ads", sleep=sleep)
    assert status == 0
    first, last = text.splitlines()
    assert first.startswith("RollingOut: 3 pods are of an earlier template (1 of 4")
    assert last.startswith("Settled")


def test_a_rollout_that_takes_too_long_is_an_error(api: FakeKubectl) -> None:
    api.set_condition("Degraded", "True", "CrashLooping", "Pod ads-3: it crashed 4 times")
    times = iter([0.0, 1.0, 9.0])
    with pytest.raises(CommandError, match="not settled within 5 s: Stopped: CrashLooping"):
        run(
            api,
            *("rollout", "status", "ads", "--timeout", "5"),
            sleep=lambda _: None,
            monotonic=lambda: next(times),
        )


def test_a_rollout_of_a_paused_cluster_says_how_to_resume(api: FakeKubectl) -> None:
    api.cluster["spec"]["paused"] = True
    with pytest.raises(CommandError, match="paused: kubectl partisan -n staging resume ads"):
        run(api, "rollout", "status", "ads")


def test_one_look_at_a_rollout_is_enough_when_asked(api: FakeKubectl) -> None:
    api.cluster["metadata"]["generation"] = 3
    status, text = run(api, "rollout", "status", "ads", "--no-watch")
    assert (status, text) == (0, "Waiting for the operator to see the newest spec\n")
    assert rollout.PERIOD > 0


REVISIONS = f"/apis/apps/v1/namespaces/{NAMESPACE}/controllerrevisions"
SHARD = f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets/ads"


def template(image: str, configuration: str = "c", **pod: Any) -> dict[str, Any]:
    return {
        "metadata": {"annotations": {"partisan.dev/config-hash": configuration}},
        "spec": {"containers": [{"image": image, "resources": {"requests": {}}}], **pod},
    }


def with_templates(api: FakeKubectl, *templates: dict[str, Any]) -> None:
    """Record the templates that the StatefulSet had, the newest last, and some of another's."""
    api.answers[SHARD] = {
        "metadata": {"uid": "set-uid"},
        "status": {"updateRevision": f"ads-{len(templates)}"},
    }

    def revision(number: int, found: dict[str, Any], owner: str) -> dict[str, Any]:
        reference = {"controller": True, "uid": owner}
        return {
            "metadata": {"name": f"ads-{number}", "ownerReferences": [reference]},
            "revision": number,
            "data": {"spec": {"template": found}},
        }

    own = [revision(number, found, "set-uid") for number, found in enumerate(templates, 1)]
    other = revision(99, template("foreign"), "other-uid")
    api.answers[REVISIONS] = {"items": [*reversed(own), other]}


def test_an_undo_sets_the_fields_that_made_the_newest_template(api: FakeKubectl) -> None:
    api.cluster["spec"] |= {"image": "node:3", "nodeSelector": {"disk": "ssd"}}
    with_templates(
        api,
        template("node:1"),
        template("node:2", nodeSelector={"zone": "a"}),
        template("node:3", nodeSelector={"disk": "ssd"}),
    )
    status, text = run(api, "rollout", "undo", "ads", "--dry-run")
    assert (status, api.patches) == (0, [])
    assert "spec.image: node:3 -> node:2" in text
    status, text = run(api, "rollout", "undo", "ads")
    assert status == 0
    assert api.patches == [
        {"spec": {"image": "node:2", "nodeSelector": {"disk": None, "zone": "a"}}}
    ]
    assert "rollout status ads" in text


def test_an_undo_knows_what_the_pods_carry_beside_the_operators_own(api: FakeKubectl) -> None:
    def carrying(team: str, *variables: str) -> dict[str, Any]:
        found = template("node:1")
        own = {"partisan.dev/cluster": "ads", "app.kubernetes.io/name": "partisan-node"}
        found["metadata"]["labels"] = own | ({"team": team} if team else {})
        env = [{"name": name, "value": "x"} for name in ("POD_NAME", "ERL_FLAGS", *variables)]
        found["spec"]["containers"][0]["env"] = env
        return found

    api.cluster["spec"]["pods"] = {"labels": {"team": "b"}}
    with_templates(api, carrying("", "COLOUR"), carrying("b"))
    run(api, "rollout", "undo", "ads")
    env = [{"name": "COLOUR", "value": "x"}]
    assert api.patches == [{"spec": {"pods": {"labels": None, "env": env}}}]


@pytest.mark.parametrize(
    ("templates", "words"),
    [
        ([template("node:1")], "nothing to undo"),
        ([template("node:1", "a"), template("node:2", "b")], "apply the former manifest"),
        (
            [template("node:1"), template("node:1", hostUsers=False)],
            "another version of the operator",
        ),
    ],
)
def test_an_undo_that_cannot_lead_back_says_what_does(
    api: FakeKubectl, templates: list[dict[str, Any]], words: str
) -> None:
    with_templates(api, *templates)
    with pytest.raises(CommandError, match=words):
        run(api, "rollout", "undo", "ads")
    assert api.patches == []


def test_an_undo_of_a_paused_cluster_says_how_to_resume(api: FakeKubectl) -> None:
    with_templates(api, template("node:1"), template("node:2"))
    api.cluster["spec"]["paused"] = True
    _, text = run(api, "rollout", "undo", "ads")
    assert text.splitlines()[-1].endswith("resume ads")


def test_an_undo_that_the_api_server_refuses_changes_nothing(api: FakeKubectl) -> None:
    with_templates(api, template("node:1"), template("node:2"))
    api.refusal = "Error from server (Invalid): spec.image: no"
    with pytest.raises(CommandError, match="nothing was changed"):
        run(api, "rollout", "undo", "ads")


def test_a_rollout_can_be_paused_where_it_is_looked_for(api: FakeKubectl) -> None:
    assert run(api, "rollout", "pause", "ads") == (0, "ads paused\n")
    assert api.patches == [{"spec": {"paused": True}}]


def test_logs_are_merged_by_time(api: FakeKubectl) -> None:
    api.log = (
        "[pod/ads-0/node] 2026-01-01T00:00:01.12Z second\n"
        "[pod/ads-0/node] 2026-01-01T00:00:02Z fourth\n"
        "[pod/ads-1/node] 2026-01-01T00:00:01Z first\n"
        "[pod/ads-1/node] 2026-01-01T00:00:01.123Z third\n"
    )
    _, text = run(api, "logs", "ads")
    assert [line.split()[1:] for line in text.splitlines()] == [
        ["ads-1", "first"],
        ["ads-0", "second"],
        ["ads-1", "third"],
        ["ads-0", "fourth"],
    ]
    _, text = run(api, "logs", "ads", "--node", "ads-1", "-f")
    assert [line.split()[2] for line in text.splitlines()] == ["first", "third"]
    assert "--follow" in api.commands[-1]


def test_logs_of_a_cluster_that_does_not_start_lead_to_its_status(api: FakeKubectl) -> None:
    with pytest.raises(CommandError, match="see kubectl partisan -n staging status ads"):
        run(api, "logs", "ads")
    assert run(api, "logs", "ads", "--since", "1s") == (0, "")


def test_logs_of_a_node_that_is_not_there_name_those_that_are(api: FakeKubectl) -> None:
    with pytest.raises(CommandError, match="no node 'ads-4': its nodes are ads-0 to ads-3"):
        run(api, "logs", "ads", "--node", "ads-4")


def test_a_node_is_described_by_kubernetes_and_by_itself(api: FakeKubectl) -> None:
    _, text = run(api, "describe", "node", "ads-2")
    for part in ("ads-2 of ads", "machine-1", "Restarts  1", "0.1.0 on OTP 25", "ads-1 ads-3"):
        assert part in text
    assert "Passive   ads-9" in text
    assert "default    10  2.0 kB" in text


def test_a_node_that_does_not_answer_is_described_by_kubernetes(api: FakeKubectl) -> None:
    del api.reports["ads-2"]
    _, text = run(api, "describe", "node", "ads-2")
    assert "machine-1" in text
    assert "The node does not answer: no route" in text
    with pytest.raises(CommandError, match="there is no node 'web-1'"):
        run(api, "describe", "node", "web-1")


def test_the_archive_holds_everything_and_no_secret(api: FakeKubectl, tmp_path: Path) -> None:
    _, text = run(api, "must-gather", "ads", "-f", str(tmp_path / "ads.tar.gz"))
    assert text.endswith("; 1 thing could not be read: see errors.txt\n")
    files: dict[str, str] = {}
    with tarfile.open(tmp_path / "ads.tar.gz") as tar:
        for member in tar:
            content = tar.extractfile(member)
            assert content is not None
            files[member.name.partition("/")[2]] = content.read().decode()
    assert {f"nodes/ads-{ordinal}.log" for ordinal in range(4)} < files.keys()
    assert "nodes/ads-2.previous.log" in files
    assert files["nodes/ads-1.metrics.txt"] == "partisan_overlay_joined 1\n"
    assert json.loads(files["nodes/ads-0.status.json"])["node"] == "ads-0"
    assert files["errors.txt"] == 'machines.yaml: nodes is forbidden: User "u"\n'
    assert "managedFields" not in files["cluster.yaml"]
    assert yaml.safe_load(files["secrets.yaml"])["data"]["token"] == "REDACTED (8 characters)"
    for content in files.values():
        assert TOKEN not in content
        assert "secret-word" not in content


def test_the_archive_shows_no_key_of_the_clusters_own_authority(
    api: FakeKubectl, tmp_path: Path
) -> None:
    pair = mint.new_authority("ads", NOW, timedelta(days=1))
    encoded = base64.b64encode(pair.key.encode()).decode()
    api.cluster["spec"]["security"] = {"tls": {"clusterCa": {}}}
    api.answers[f"{CORE}/secrets"]["items"] += [
        {"metadata": {"name": name}, "data": {"tls.key": encoded}} for name in ("ads-ca", "ads-tls")
    ]
    astray = {"metadata": {"name": "x"}, "data": {"clear": pair.key, "encoded": encoded}}
    api.answers[f"{CORE}/configmaps"] = {"items": [astray]}
    run(api, "must-gather", "ads", "-f", str(tmp_path / "ads.tar.gz"))
    with tarfile.open(tmp_path / "ads.tar.gz") as tar:
        for member in tar:
            content = tar.extractfile(member)
            assert content is not None
            text = content.read().decode()
            assert "PRIVATE KEY" not in text, member.name
            assert encoded not in text, member.name


def test_an_archive_without_the_right_to_read_secrets_is_made_and_says_so(
    api: FakeKubectl, tmp_path: Path
) -> None:
    api.answers[f"{CORE}/secrets"] = "Error from server (Forbidden): secrets is forbidden"
    _, text = run(api, "must-gather", "ads", "-f", str(tmp_path / "ads.tar.gz"))
    assert "2 things could not be read" in text


def test_a_place_that_cannot_be_written_to_is_named(api: FakeKubectl, tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "file"
    for command in (("must-gather", "ads"), ("graph", "ads")):
        with pytest.raises(CommandError, match=r"cannot write .*missing/file: No such file"):
            run(api, *command, "-f", str(missing))
