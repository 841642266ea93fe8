"""The client of the API server, on the wire."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from fake_api import FakeApi
from partisan_operator.act.events import announce
from partisan_operator.api import metrics
from partisan_operator.api.errors import KubeError
from partisan_operator.api.fence import Fence
from partisan_operator.api.kube import Kube, Query
from partisan_operator.status.announcements import Announcement
from world import cluster

MAP = "/api/v1/namespaces/default/configmaps/a"


@pytest.fixture
async def api() -> AsyncIterator[FakeApi]:
    server = FakeApi()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
def kube(api: FakeApi) -> Kube:
    return api.kube


async def test_get(api: FakeApi, kube: Kube) -> None:
    api.put(MAP, {"metadata": {"name": "a"}, "data": {}})
    assert (await kube.get("ConfigMap", "default", "a") or {})["data"] == {}
    assert await kube.get("ConfigMap", "default", "b") is None


async def test_a_list_comes_from_the_cache_and_its_items_have_their_kind(
    api: FakeApi, kube: Kube
) -> None:
    api.put(MAP, {"metadata": {"name": "a", "labels": {"l": "v"}}})
    api.put(f"{MAP}2", {"metadata": {"name": "a2", "labels": {"l": "w"}}})
    (found,) = await kube.find("ConfigMap", "default", Query(labels="l=v"))
    assert (found["apiVersion"], found["kind"]) == ("v1", "ConfigMap")
    assert api.log[-1].query["resourceVersion"] == "0"


async def test_metadata_can_be_requested_alone(api: FakeApi, kube: Kube) -> None:
    await kube.find("Pod", "default", Query(fields="status.phase=Pending", metadata_only=True))
    assert "PartialObjectMetadataList" in api.log[-1].headers["Accept"]
    assert api.log[-1].query["fieldSelector"] == "status.phase=Pending"


async def test_apply_is_server_side_and_ours(api: FakeApi, kube: Kube) -> None:
    await kube.apply({"kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}})
    request = api.log[-1]
    assert request.method == "PATCH"
    assert request.headers["Content-Type"] == "application/apply-patch+yaml"
    assert request.query == {"fieldManager": "partisan-operator", "force": "true"}
    assert MAP in api.objects


async def test_a_status_is_written_for_one_uid(api: FakeApi, kube: Kube) -> None:
    await kube.apply_status(cluster(), {"ready": 3})
    assert api.log[-1].path.endswith("/partisanclusters/ads/status")
    (live,) = api.objects.values()
    assert (live["metadata"]["uid"], live["status"]) == ("cluster-uid", {"ready": 3})


async def test_delete_needs_the_uid_that_was_seen(api: FakeApi, kube: Kube) -> None:
    uid = api.put(MAP, {"metadata": {"name": "a"}})["metadata"]["uid"]
    await kube.delete("ConfigMap", "default", "a", "another")
    assert MAP in api.objects
    await kube.delete("ConfigMap", "default", "a", uid)
    assert MAP not in api.objects
    await kube.delete("ConfigMap", "default", "a", uid)


async def test_an_announcement_is_an_event_about_the_cluster(api: FakeApi, kube: Kube) -> None:
    await announce(kube, cluster(), Announcement("Warning", "CrashLooping", "why"))
    (event,) = api.objects.values()
    assert (event["type"], event["reason"], event["message"]) == ("Warning", "CrashLooping", "why")
    assert event["involvedObject"]["uid"] == "cluster-uid"
    # By which `kubectl events --for` finds it.
    assert event["involvedObject"]["apiVersion"] == "partisan.dev/v1beta1"


async def test_a_refusal_carries_code_and_message(api: FakeApi, kube: Kube) -> None:
    api.failure = (403, "you may not")
    with pytest.raises(KubeError, match="you may not") as refused:
        await kube.get("ConfigMap", "default", "a")
    assert refused.value.code == 403


@pytest.mark.parametrize("text", ["<h1>log in</h1>", "", "[1]", "null"])
async def test_an_answer_that_is_no_object_is_no_answer(
    api: FakeApi, kube: Kube, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(api, "_failed", lambda: web.Response(text=text))
    with pytest.raises(KubeError, match="is no JSON object: HTTP 200") as refused:
        await kube.get("ConfigMap", "default", "a")
    assert (refused.value.transient, refused.value.request) == (True, "get ConfigMap a")


async def test_an_object_of_a_kind_that_is_not_served_is_not_known_to_be_absent(
    api: FakeApi, kube: Kube
) -> None:
    api.unserved = {"configmaps"}
    with pytest.raises(KubeError, match="404 page not found") as refused:
        await kube.get("ConfigMap", "default", "a")
    assert refused.value.code == 404
    assert refused.value.request == "get ConfigMap a"


async def test_the_kinds_of_a_group_that_can_be_watched(api: FakeApi, kube: Kube) -> None:
    resources = [
        {"name": "partisanclusters", "verbs": ["get", "watch"]},
        {"name": "partisanclusters/status", "verbs": ["get"]},
    ]
    api.put("/apis/partisan.dev/v1alpha1", {"metadata": {}, "resources": resources})
    assert await kube.served("partisan.dev", "v1alpha1") == {"partisanclusters"}
    assert await kube.served("partisan.dev", "v2") == frozenset()


async def test_discovery_is_counted_as_a_read(api: FakeApi, kube: Kube) -> None:
    labels = {"verb": "get", "kind": "APIResourceList", "code": "404"}

    def counted() -> float:
        return metrics.registry.get_sample_value("partisan_operator_api_calls_total", labels) or 0.0

    before = counted()
    await kube.served("partisan.dev", "v2")
    assert counted() == before + 1


@pytest.mark.parametrize("name", ["../../other/configmaps/a", "..", ".", "a/status", "a%2fb"])
async def test_a_name_never_leads_to_another_object(api: FakeApi, kube: Kube, name: str) -> None:
    api.put("/api/v1/namespaces/other/configmaps/a", {"metadata": {"name": "a"}})
    with pytest.raises(KubeError, match="cannot be the name") as refused:
        await kube.get("ConfigMap", "default", name)
    assert refused.value.code == 400
    assert api.log == []


async def test_a_name_is_one_segment_of_the_path(api: FakeApi, kube: Kube) -> None:
    assert await kube.get("ConfigMap", "default", "a?watch=true#x") is None
    assert api.log[-1].path == f"{MAP}?watch=true#x"
    assert not api.log[-1].query


async def test_no_answer_is_an_error_too(api: FakeApi, kube: Kube) -> None:
    await api._runner.cleanup()
    with pytest.raises(KubeError, match="no answer") as refused:
        await kube.get("ConfigMap", "default", "a")
    assert refused.value.code == 0


async def test_a_review_is_a_question_and_needs_no_lease(api: FakeApi) -> None:
    api.verdict = {"authenticated": True}
    kube = Kube(api.client, Fence())
    assert await kube.review("TokenReview", {"token": "t"}) == {"authenticated": True}
    assert api.log[-1].path == "/apis/authentication.k8s.io/v1/tokenreviews"
    assert await kube.review("SubjectAccessReview", {"user": "u"}) == {"authenticated": True}
    assert api.log[-1].path == "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    api.refusals["tokenreviews"] = (403, "no")
    with pytest.raises(KubeError, match="no"):
        await kube.review("TokenReview", {"token": "t"})
