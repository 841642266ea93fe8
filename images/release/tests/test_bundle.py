"""The bundle for the Operator Lifecycle Manager, and its rules."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from images.release import bundle, bundle_rules
from images.release.plan import Plan
from images.release.version import ReleaseError, version

Json = dict[str, Any]

PLAN = Plan(version="1.2.3")
VERSION = "manifests/partisan-operator.clusterserviceversion.yaml"
DEFINITION = "manifests/partisanclusters.partisan.dev.crd.yaml"
ANNOTATIONS = "metadata/annotations.yaml"

CONTAINER = {
    "name": "operator",
    "image": PLAN.image("operator"),
    "resources": {"requests": {"cpu": "50m"}},
    "env": [{"name": "A", "value": "b"}],
}


def item(kind: str, name: str, **further: object) -> Json:
    return {"kind": kind, "metadata": {"name": name, "namespace": "x", "labels": {}}, **further}


RENDERED = [
    item("ServiceAccount", "partisan-operator"),
    item("ClusterRole", "partisan-operator", rules=[{"verbs": ["get"]}]),
    item("Service", "partisan-operator-metrics", spec={}),
    item(
        "Deployment",
        "partisan-operator",
        spec={
            "template": {
                "metadata": {},
                "spec": {"serviceAccountName": "partisan-operator", "containers": [CONTAINER]},
            }
        },
    ),
]


@pytest.fixture(scope="module")
def made() -> dict[str, Json]:
    return bundle.documents(PLAN, RENDERED)


@pytest.fixture
def documents(made: dict[str, Json]) -> dict[str, Json]:
    return deepcopy(made)


def test_the_bundle_of_the_charts_objects_is_valid(documents: dict[str, Json]) -> None:
    bundle_rules.check(documents)
    assert set(documents) == {
        VERSION,
        DEFINITION,
        ANNOTATIONS,
        "manifests/partisan-operator-metrics.service.yaml",
    }


def test_olm_gives_the_operator_the_charts_pod_and_rights(documents: dict[str, Json]) -> None:
    install = documents[VERSION]["spec"]["install"]["spec"]
    (granted,) = install["clusterPermissions"]
    assert granted == {
        "serviceAccountName": "partisan-operator",
        "rules": [{"verbs": ["get"]}],
    }
    (deployment,) = install["deployments"]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container == CONTAINER


@pytest.mark.usefixtures("helm")
def test_the_charts_objects_are_those_that_the_bundle_expects() -> None:
    plan = Plan(version=version())
    bundle_rules.check(bundle.documents(plan, bundle.rendered(plan)))


def test_an_object_that_the_bundle_does_not_expect_is_reported() -> None:
    with pytest.raises(ReleaseError, match="no place for the chart's Role"):
        bundle.documents(PLAN, [*RENDERED, item("Role", "x")])


def change(path: str, *keys: str | int, to: object = None) -> Callable[[dict[str, Json]], None]:
    """A mistake: another value, or none, at a place of a document."""

    def make(documents: dict[str, Json]) -> None:
        value: Any = documents[path]
        for key in keys[:-1]:
            value = value[key]
        if to is None:
            del value[keys[-1]]
        else:
            value[keys[-1]] = to

    return make


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (change(VERSION, "metadata", "name", to="partisan"), "has not the form NAME.vX.Y.Z"),
        (change(VERSION, "spec", "version", to="2.0.0"), "another version than spec.version"),
        (change(VERSION, "spec", "minKubeVersion", to="1.30"), "minKubeVersion"),
        (change(VERSION, "spec", "provider"), "spec.provider.name"),
        (change(VERSION, "spec", "maintainers", 0, "email", to="me"), "email address"),
        (change(VERSION, "spec", "links", 0, "url"), "a name and a url"),
        (change(VERSION, "spec", "icon", to=[]), "spec.icon"),
        (change(VERSION, "spec", "description"), "spec.description is missing"),
        (change(VERSION, "spec", "installModes", 3, "supported", to=False), "supports none"),
        (change(VERSION, "spec", "installModes", 0), "must have each of"),
        (change(VERSION, "spec", "relatedImages", to=[]), "relatedImages lacks"),
        (change(VERSION, "spec", "install", "spec", "deployments", to=[]), "has no deployment"),
        (change(VERSION, "metadata", "annotations", "capabilities", to="All"), "capabilities is"),
        (change(VERSION, "metadata", "annotations", "categories", to="Fun"), "no category"),
        (change(VERSION, "metadata", "annotations", "containerImage"), "containerImage is missing"),
        (change(VERSION, "metadata", "annotations", "alm-examples", to="{"), "no JSON list"),
        (
            change(VERSION, "metadata", "annotations", "alm-examples", to="[]"),
            "alm-examples has no",
        ),
        (
            change(VERSION, "spec", "customresourcedefinitions", "owned", 0, "version", to="v9"),
            "is owned, and not in the bundle",
        ),
        (
            change(VERSION, "spec", "customresourcedefinitions", "owned", 0, "description"),
            "has no description",
        ),
        (change(DEFINITION, "kind", to="Namespace"), "OLM installs no Namespace"),
        (
            change(ANNOTATIONS, "annotations", f"{bundle._PREFIX}package.v1"),
            "annotations.yaml has no",
        ),
        (
            change(ANNOTATIONS, "annotations", f"{bundle._PREFIX}channel.default.v1", to="stable"),
            "default channel stable",
        ),
    ],
)
def test_mistakes_are_named(
    mistake: Callable[[dict[str, Json]], None], message: str, documents: dict[str, Json]
) -> None:
    mistake(documents)
    with pytest.raises(ReleaseError, match=message):
        bundle_rules.check(documents)


def test_rights_for_the_operators_account_are_needed(documents: dict[str, Json]) -> None:
    documents[VERSION]["spec"]["install"]["spec"]["clusterPermissions"] = []
    with pytest.raises(ReleaseError, match="its ServiceAccount has no permissions"):
        bundle_rules.check(documents)
