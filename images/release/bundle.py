"""A bundle for the Operator Lifecycle Manager (OLM): the chart's objects in OLM's form.

The description, names and links that users see are in `bundle.yaml`; everything else comes from the
rendered chart, so that the two ways to install the operator give it the same pod and rights.
"""

import base64
import json
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

import yaml

from charts.tools.definition import oldest
from images.release import archive, chart, oci
from images.release.bundle_rules import check
from images.release.plan import Plan
from images.release.version import ReleaseError
from scale_tests.cluster import crd
from scale_tests.cluster.operator import RELEASE
from scale_tests.host.commands import ROOT
from scale_tests.host.documents import data_of

Json = dict[str, Any]

ICON = ROOT / "docs" / "pictures" / "architecture-light.svg"
EXAMPLE = ROOT / "examples" / "cluster.yaml"

KEPT = ("Service", "PodDisruptionBudget")
"""Kinds of the chart's objects that are in the bundle as they are."""

DESCRIBED = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Deployment")
"""Kinds that OLM makes from the ClusterServiceVersion."""

LABELS = {
    "mediatype.v1": "registry+v1",
    "manifests.v1": "manifests/",
    "metadata.v1": "metadata/",
    "package.v1": RELEASE,
    "channels.v1": "alpha",
    "channel.default.v1": "alpha",
}
_PREFIX = "operators.operatorframework.io.bundle."


def labels() -> dict[str, str]:
    """The labels of the bundle, which its image has too."""
    return {f"{_PREFIX}{name}": value for name, value in LABELS.items()}


def rendered(plan: Plan) -> list[Json]:
    """The chart's objects but the rights of users, which OLM grants itself.

    Raises ExpectedError.
    """
    return chart.rendered(plan, "rbac.aggregateToUserRoles=false")


def documents(plan: Plan, objects: Iterable[Json]) -> dict[str, Json]:
    """The documents of the bundle by their paths, from the chart's rendered objects.

    Raises ReleaseError: one of them is of a kind that is not expected; ExpectedError.
    """
    plain = [chart.without_helm(item) for item in objects]
    definition = deepcopy(dict(crd.definition()))
    known = {*KEPT, *DESCRIBED, definition["kind"]}
    if unknown := {item["kind"] for item in plain} - known:
        raise ReleaseError(f"the bundle has no place for the chart's {', '.join(sorted(unknown))}")
    manifests = {
        f"manifests/{item['metadata']['name']}.{item['kind'].lower()}.yaml": _placeless(item)
        for item in plain
        if item["kind"] in KEPT
    }
    return {
        f"manifests/{RELEASE}.clusterserviceversion.yaml": service_version(plan, plain, definition),
        f"manifests/{definition['metadata']['name']}.crd.yaml": definition,
        **manifests,
        "metadata/annotations.yaml": {"annotations": labels()},
    }


def service_version(plan: Plan, objects: list[Json], definition: Json) -> Json:
    """The ClusterServiceVersion: the operator's deployment, its rights and what users see.

    Raises ExpectedError.
    """
    seen = data_of(__file__)
    owned = list(_owned(definition, seen["resource"]))
    deployment = _only(objects, "Deployment", RELEASE)
    account = deployment["spec"]["template"]["spec"]["serviceAccountName"]
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": f"{RELEASE}.v{plan.version}",
            "namespace": "placeholder",
            "annotations": {
                **seen["annotations"],
                "alm-examples": json.dumps(list(_examples(definition, owned)), indent=2),
                "containerImage": plan.image("operator"),
                "createdAt": plan.created,
            },
        },
        "spec": {
            **seen["spec"],
            "version": plan.version,
            "minKubeVersion": f"{oldest()}.0",
            "icon": [
                {
                    "base64data": base64.b64encode(ICON.read_bytes()).decode(),
                    "mediatype": "image/svg+xml",
                }
            ],
            "customresourcedefinitions": {"owned": owned},
            "install": {
                "strategy": "deployment",
                "spec": {
                    "deployments": [
                        {
                            "name": RELEASE,
                            "label": deployment["metadata"].get("labels", {}),
                            "spec": deployment["spec"],
                        }
                    ],
                    "clusterPermissions": [
                        {
                            "serviceAccountName": account,
                            "rules": _only(objects, "ClusterRole", RELEASE)["rules"],
                        }
                    ],
                },
            },
            "relatedImages": [
                {"name": name, "image": plan.image(name)} for name in chart.IMAGES.values()
            ],
        },
    }


def build(plan: Plan) -> None:
    """Writes the bundle as a directory and as an image.

    Raises ExpectedError, ReleaseError.
    """
    found = documents(plan, rendered(plan))
    check(found)
    files = {
        path: yaml.safe_dump(document, sort_keys=False, width=100).encode()
        for path, document in found.items()
    }
    for path, content in files.items():
        plan.file(f"bundle/{path}").write_bytes(content)
    image = oci.PlatformImage(
        {"architecture": "amd64", "os": "linux", "config": {}}, (archive.tar(files),)
    )
    oci.write(
        plan.file(f"{RELEASE}-bundle-{plan.version}.oci.tar"),
        plan.image(f"{RELEASE}-bundle"),
        [image],
        {**plan.labels, **labels()},
    )


def _owned(definition: Json, described: Json) -> Iterable[Json]:
    for version in definition["spec"]["versions"]:
        if version["served"]:
            yield {
                "name": definition["metadata"]["name"],
                "kind": definition["spec"]["names"]["kind"],
                "version": version["name"],
                **described,
            }


def _examples(definition: Json, owned: Iterable[Json]) -> Iterable[Json]:
    example = yaml.safe_load(EXAMPLE.read_text())
    for each in owned:
        yield {**example, "apiVersion": f"{definition['spec']['group']}/{each['version']}"}


def _placeless(item: Json) -> Json:
    """An object without a namespace: OLM puts it into the operator's."""
    metadata = {key: value for key, value in item["metadata"].items() if key != "namespace"}
    return {**item, "metadata": metadata}


def _only(objects: Iterable[Json], kind: str, name: str) -> Json:
    (found,) = (
        item for item in objects if (item["kind"], item["metadata"]["name"]) == (kind, name)
    )
    return found
