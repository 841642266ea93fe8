"""`status` of the plugin, against recorded answers of an API server."""

import pytest

from fake_kubectl import CLUSTERS, NAMESPACE, FakeKubectl, run
from partisan_operator.cli.access import CommandError
from partisan_operator.cli.kubectl import KubectlError
from partisan_operator.decide.problems import invalid_bearer, invalid_token, token_lost
from partisan_operator.models.problem import Problem

REPLACE_PODS = f"kubectl -n {NAMESPACE} delete pods -l partisan.dev/cluster=ads"


def test_a_healthy_cluster_has_no_problem_and_a_next_step(kubectl: FakeKubectl) -> None:
    status, text = run(kubectl, "status", "ads")
    assert status == 0
    assert "ads in staging, 1h0m old" in text
    assert "4 wanted, 4 exist, 4 ready, 4 joined, 4 up to date; 1 restart" in text
    assert "HyParView: 1 component, 0 isolated, 4 links, mean degree 2.0" in text
    assert "Nothing is wrong." in text
    assert f"kubectl partisan -n {NAMESPACE} top ads" in text


def test_the_operators_diagnosis_is_what_is_wrong(kubectl: FakeKubectl) -> None:
    kubectl.set_condition("Degraded", "True", "NodesSilent", "1 ready pods do not answer")
    status, text = run(kubectl, "status", "ads")
    assert status == 3
    assert "NodesSilent: 1 ready pods do not answer" in text
    assert f"kubectl partisan -n {NAMESPACE} graph ads" in text


def test_pods_that_fail_while_the_operator_is_away_are_diagnosed(kubectl: FakeKubectl) -> None:
    waiting = {"reason": "ImagePullBackOff", "message": "no such image"}
    kubectl.pods["ads-1"]["status"] = {
        "containerStatuses": [{"name": "node", "state": {"waiting": waiting}}]
    }
    status, text = run(kubectl, "status", "ads")
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
    kubectl: FakeKubectl, reason: str, command: str
) -> None:
    waiting = {"reason": "CrashLoopBackOff", "message": "back-off"}
    kubectl.pods["ads-3"]["status"] = {
        "containerStatuses": [{"name": "node", "state": {"waiting": waiting}}]
    }
    kubectl.set_condition("Degraded", "True", reason, "what the operator says")
    _, text = run(kubectl, "status", "ads")
    assert text.splitlines()[-1] == f"Next     kubectl partisan -n {NAMESPACE} {command}"


@pytest.mark.parametrize(
    ("reason", "message"),
    [
        ("TokenMismatch", "1 nodes do not take it, such as ads-1 to /configuration: 401 no"),
        ("TokenLost", token_lost("ads-token", "ads").message),
    ],
)
def test_nodes_with_another_token_are_replaced(
    kubectl: FakeKubectl, reason: str, message: str
) -> None:
    kubectl.set_condition("Degraded", "True", reason, message)
    _, text = run(kubectl, "status", "ads")
    assert text.splitlines()[-1] == f"Next     {REPLACE_PODS}"


@pytest.mark.parametrize(
    ("problem", "secret", "more"),
    [
        (invalid_token("ads-token"), "ads-token", f" && {REPLACE_PODS}"),
        (invalid_bearer("ads-bearer"), "ads-bearer", ""),
    ],
)
def test_an_unusable_secret_is_replaced(
    kubectl: FakeKubectl, problem: Problem, secret: str, more: str
) -> None:
    kubectl.set_condition("Degraded", "True", problem.reason, problem.message)
    _, text = run(kubectl, "status", "ads")
    command = f"kubectl -n {NAMESPACE} delete secret {secret}{more}"
    assert text.splitlines()[-1] == f"Next     {command}"


def test_a_rejected_bearer_is_blamed_on_the_image(kubectl: FakeKubectl) -> None:
    kubectl.set_condition("Degraded", "True", "BearerRefused", "such as ads-1: 401 no")
    _, text = run(kubectl, "status", "ads")
    assert text.splitlines()[-1] == f"Next     kubectl -n {NAMESPACE} edit pcl ads"


def test_a_problem_that_a_later_operator_reports_is_one(kubectl: FakeKubectl) -> None:
    kubectl.set_condition("Degraded", "True", "OutOfLuck", "what a later operator says")
    for words in (["status", "ads"], ["status"]):
        status, text = run(kubectl, *words)
        assert status == 3
        assert "OutOfLuck" in text


def test_rejections_of_the_api_server_suggest_an_edit(kubectl: FakeKubectl) -> None:
    kubectl.set_condition("Degraded", "True", "ApplyFailed", "refused to apply StatefulSet ads")
    _, text = run(kubectl, "status", "ads")
    assert text.splitlines()[-1] == f"Next     kubectl -n {NAMESPACE} edit pcl ads"


def test_figures_have_their_time(kubectl: FakeKubectl) -> None:
    _, text = run(kubectl, "status", "ads")
    assert "As of    2026-01-01T00:59:30Z, 30s ago" in text
    del kubectl.status["observedAt"]
    _, text = run(kubectl, "status", "ads")
    assert "As of    -" in text


def test_without_a_name_all_clusters_are_listed(kubectl: FakeKubectl) -> None:
    other = {**kubectl.cluster, "metadata": {**kubectl.cluster["metadata"], "name": "more"}}
    kubectl.answers[CLUSTERS] = {"items": [other, kubectl.cluster]}
    status, text = run(kubectl, "status")
    header, ads, more = text.splitlines()
    assert header.split() == [
        "NAME",
        "PHASE",
        "JOINED",
        "OVERLAY",
        "RUN",
        "AGE",
        "AS",
        "OF",
        "WRONG",
    ]
    assert ads.split()[:4] == ["ads", "Ready", "4/4", "HyParView"]
    assert "2026-01-01T00:59:30Z, 30s ago" in more
    assert status == 0


def test_the_list_says_which_cluster_is_wrong(kubectl: FakeKubectl) -> None:
    kubectl.set_condition("Degraded", "True", "NodesSilent", "1 ready pods do not answer")
    status, text = run(kubectl, "status")
    assert text.splitlines()[-1].endswith("NodesSilent")
    assert status == 3


def test_a_namespace_without_clusters_says_so(kubectl: FakeKubectl) -> None:
    kubectl.answers[CLUSTERS] = {"items": []}
    status, text = run(kubectl, "status")
    assert (status, "There is no PartisanCluster in namespace staging" in text) == (0, True)


def test_pods_that_start_are_no_problem_while_the_cluster_forms(kubectl: FakeKubectl) -> None:
    kubectl.pods["ads-1"]["status"] = {"phase": "Pending"}
    kubectl.set_condition("Progressing", "True", "Forming", "3 of 4 nodes have joined")
    status, text = run(kubectl, "status", "ads")
    assert status == 0
    assert "Nothing is wrong so far: 3 of 4 nodes have joined." in text
    assert "rollout status ads" in text


def test_an_operator_that_does_not_observe_is_the_next_step(kubectl: FakeKubectl) -> None:
    kubectl.cluster["metadata"]["generation"] = 3
    _, text = run(kubectl, "status", "ads")
    assert "The operator has not observed the newest spec yet" in text
    assert "kubectl -n staging describe pcl ads" in " ".join(text.split())
    assert "app.kubernetes.io/component=operator" in text


def test_a_misspelt_name_suggests_the_right_one_on_one_line(kubectl: FakeKubectl) -> None:
    with pytest.raises(CommandError, match=r"'adz' in namespace staging: did you mean ads\?$"):
        run(kubectl, "status", "adz")


def test_an_unknown_name_lists_the_known_ones_on_one_line(kubectl: FakeKubectl) -> None:
    with pytest.raises(CommandError, match=r"there is ads$"):
        run(kubectl, "status", "zebra")
    kubectl.answers[CLUSTERS] = {"items": []}
    with pytest.raises(CommandError, match="choose a namespace with -n"):
        run(kubectl, "status", "zebra")


def test_a_missing_crd_suggests_the_chart(kubectl: FakeKubectl) -> None:
    kubectl.answers[CLUSTERS] = "Error from server (NotFound): the server could not find it"
    with pytest.raises(CommandError, match="install the operator's chart"):
        run(kubectl, "top", "nothing")


def test_a_spec_of_another_version_names_the_field(kubectl: FakeKubectl) -> None:
    kubectl.cluster["spec"]["overlay"]["kind"] = "Telepathy"
    with pytest.raises(CommandError, match=r"spec\.overlay\.kind: .* another version"):
        run(kubectl, "status", "ads")


def test_the_error_of_a_refused_request_is_kept(kubectl: FakeKubectl) -> None:
    kubectl.answers[CLUSTERS] = 'Error from server (Forbidden): User "u" cannot list'
    with pytest.raises(KubectlError, match="cannot list"):
        run(kubectl, "status", "zebra")
