"""The live page on a real cluster: who sees what, at either operator and through kubectl."""

from collections.abc import Iterator
from dataclasses import replace
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, Json, core
from scale_tests.cluster.subject import LASTING, Subject, counter, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import Disruption, NewSubject
from scale_tests.e2e.page_viewer import Viewer, forwarded, printed, status
from scale_tests.e2e.reader import install_plugin
from scale_tests.host.commands import ROOT

pytestmark = pytest.mark.disrupts
"""Kills the leading operator."""

NODES = 3
RBAC = "apis/rbac.authorization.k8s.io/v1/namespaces"


@pytest.fixture(scope="module")
def watched(new_subject: NewSubject) -> Subject:
    """A cluster that counts for as long as the tests take."""
    subject = new_subject("watched")
    subject.apply(manifest("watched", NODES, workload={"adCounter": counter(NODES, LASTING)}))
    subject.wait_steady()
    return subject


@pytest.fixture(scope="module")
def elsewhere(watched: Subject) -> Iterator[Subject]:
    """A cluster in another namespace."""
    subject = replace(watched, namespace="default", name="e2e-elsewhere")
    subject.apply(manifest(subject.name, 1, workload=None))
    subject.wait_steady()
    yield subject
    subject.delete()


def token(cluster: Cluster, namespace: str, account: str) -> str:
    """Makes a ServiceAccount; returns a token of it."""
    accounts = core(namespace, "serviceaccounts")
    cluster.create(accounts, {"metadata": {"name": account}})
    answer = cluster.create(f"{accounts}/{account}/token", {"spec": {"expirationSeconds": 3600}})
    return str(answer["status"]["token"])


@pytest.fixture(scope="module")
def viewer(cluster: Cluster, namespace: str) -> dict[str, str]:
    """The headers of a user with the role `view` in the file's namespace."""
    made = token(cluster, namespace, "viewer")
    cluster.create(
        f"{RBAC}/{namespace}/rolebindings",
        {
            "metadata": {"name": "viewer"},
            "roleRef": {"apiGroup": RBAC.split("/")[1], "kind": "ClusterRole", "name": "view"},
            "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": namespace}],
        },
    )
    return {"Authorization": f"Bearer {made}"}


def leader_and_standby(cluster: Cluster) -> tuple[str, str]:
    """The names of both pods, once one leads and both are ready."""

    def names() -> tuple[str, ...]:
        leads, pods = operator.leader(cluster), operator.operator_pods(cluster)
        ready = [
            name
            for name in (pod["metadata"]["name"] for pod in pods)
            if operator.readiness(cluster, name)[0]
        ]
        return (leads, *(name for name in ready if name != leads)) if leads in ready else ()

    first, second = wait_for("two operators", names, lambda found: len(found) == 2)
    return first, second


@pytest.fixture
def pages(environment: Environment, cluster: Cluster) -> Iterator[tuple[str, str]]:
    """The URLs of the leader's and of the standby's page."""
    leads, stands_by = leader_and_standby(cluster)
    with forwarded(environment, leads) as first, forwarded(environment, stands_by) as second:
        yield first, second


def stream(page: str, subject: Subject) -> str:
    """The URL of a stream with the cluster open."""
    return f"{page}/v1/stream?namespace={subject.namespace}&cluster={subject.name}"


def rates(document: Json, subject: Subject) -> dict[str, float]:
    """The messages per second on the counter's channel, of each link that has some."""
    details = document.get("details", {}).get(f"{subject.namespace}/{subject.name}", {})
    return {
        link: found["channels"]["default"]["messages_per_second"]
        for link, found in details.get("links", {}).items()
        if "default" in found.get("channels", {})
    }


def test_who_is_unknown_or_has_no_right_sees_nothing(
    pages: tuple[str, str], cluster: Cluster, namespace: str
) -> None:
    newcomer = {"Authorization": f"Bearer {token(cluster, namespace, 'newcomer')}"}
    for page in pages:
        assert status(page, {}) == 200
        assert status(f"{page}/v1/stream", {}) == 401
        assert status(f"{page}/v1/stream", {"Authorization": "Bearer invented"}) == 401
        assert status(f"{page}/v1/stream", newcomer) == 403
        assert status(f"{page}/v1/history?namespace={namespace}", newcomer) == 403


def test_a_viewer_of_a_namespace_sees_that_one_at_either_operator(
    pages: tuple[str, str], watched: Subject, elsewhere: Subject, viewer: dict[str, str]
) -> None:
    leading, standing_by = (Viewer(stream(page, watched), viewer) for page in pages)
    everything = Viewer(f"{pages[1]}/v1/stream", viewer)
    own = f"{watched.namespace}/watched"
    with leading.open(), standing_by.open(), everything.open():
        wait_for(
            "traffic on every link",
            lambda: rates(leading.document, watched),
            lambda found: len(found) >= NODES - 1,
        )
        common = wait_for(
            "events that both streams have",
            lambda: leading.by_event.copy().keys() & standing_by.by_event.copy().keys(),
            lambda ids: len(ids) > 2,
        )
        wait_for("the first event", lambda: list(everything.reasons), bool)
    assert [leading.by_event[each] for each in common] == [
        standing_by.by_event[each] for each in common
    ]
    assert leading.reasons[0] == standing_by.reasons[0] == everything.reasons[0] == "start"
    details = leading.document["details"][own]
    assert {node["state"] for node in details["nodes"].values()} == {"joined"}
    assert set(leading.document["clusters"]) == set(everything.document["clusters"]) == {own}
    assert status(stream(pages[0], elsewhere), viewer) == 403


def test_kubectl_partisan_web_shows_it_with_a_service_account(
    environment: Environment,
    watched: Subject,
    viewer: dict[str, str],
    tmp_path: Path,
) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.symlink_to(operator.tool("kubectl"))
    install_plugin(tmp_path)
    variables = {
        "PATH": f"{tmp_path}:/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": str(ROOT / "operator" / "src"),
    }
    words = ["partisan", "web", "watched", "-n", watched.namespace, "--no-open"]
    words += ["--service-account", "viewer"]
    with printed(environment, [str(kubectl), *words], r"(http://\S+)", **variables) as url:
        address, _, fragment = url.partition("#")
        assert fragment == f"{watched.namespace}/watched"
        page = address.partition("/?")[0]
        assert status(page, {}) == 403
        jar = CookieJar()
        with build_opener(HTTPCookieProcessor(jar)).open(address) as answer:
            assert b"<html" in answer.read()
        (cookie,) = jar
        shown = Viewer(stream(page, watched), {"Cookie": f"{cookie.name}={cookie.value}"})
        with shown.open():
            wait_for("the stream", lambda: rates(shown.document, watched), bool)


def test_a_viewer_is_told_of_a_new_leader_and_sees_what_it_observes(
    environment: Environment,
    cluster: Cluster,
    watched: Subject,
    viewer: dict[str, str],
    disruption: Disruption,
) -> None:
    with disruption():
        leads, stands_by = leader_and_standby(cluster)
        with forwarded(environment, stands_by) as page:
            follower = Viewer(stream(page, watched), viewer)
            with follower.open():
                wait_for("the stream", lambda: len(follower.by_event), bool)
                cluster.delete(core(operator.NAMESPACE, "pods", leads), gracePeriodSeconds="0")
                wait_for("the next leader", lambda: list(follower.reasons), _has_moved)
                watched.patch(replicas=NODES + 1)
                wait_for(
                    "a node that came after it",
                    lambda: _states(follower.document, watched),
                    lambda states: list(states.values()) == ["joined"] * (NODES + 1),
                )


def _has_moved(reasons: list[str]) -> bool:
    return reasons[-1] == "leader"


def _states(document: Json, subject: Subject) -> dict[str, str]:
    details = document["details"].get(f"{subject.namespace}/{subject.name}", {})
    return {name: node["state"] for name, node in details.get("nodes", {}).items()}
