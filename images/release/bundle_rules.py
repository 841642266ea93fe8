"""Rules for bundles, as the validators of operator-sdk have them, as far as they need no cluster.

The default validators' rules and those of OperatorHub; every finding is an error here, also what
operator-sdk only warns about.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from images.release.version import ReleaseError

Json = dict[str, Any]

CAPABILITIES = (
    "Basic Install",
    "Seamless Upgrades",
    "Full Lifecycle",
    "Deep Insights",
    "Auto Pilot",
)
CATEGORIES = (
    *("AI/Machine Learning", "Application Runtime", "Big Data", "Cloud Provider", "Database"),
    *(
        "Developer Tools",
        "Integration & Delivery",
        "Logging & Tracing",
        "Modernization & Migration",
    ),
    *("Monitoring", "Networking", "OpenShift Optional", "Security", "Storage"),
    "Streaming & Messaging",
)
ICONS = ("image/gif", "image/jpeg", "image/png", "image/svg+xml")
INSTALL_MODES = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
KINDS = (
    *("ClusterRole", "ClusterRoleBinding", "ClusterServiceVersion", "ConfigMap"),
    *("CustomResourceDefinition", "PodDisruptionBudget", "PriorityClass", "PrometheusRule"),
    *("Role", "RoleBinding", "Secret", "Service", "ServiceAccount", "ServiceMonitor"),
)
"""The kinds that OLM installs."""

REQUIRED = ("mediatype.v1", "manifests.v1", "metadata.v1", "package.v1", "channels.v1")
_SEMVER = r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)"


def check(bundle: Mapping[str, Json]) -> None:
    """Checks the documents of a bundle, by their paths. Raises ReleaseError with all findings."""
    found = list(findings(bundle))
    if found:
        raise ReleaseError("the bundle is not valid:\n  " + "\n  ".join(found))


def findings(bundle: Mapping[str, Json]) -> Iterator[str]:
    """Mistakes of a bundle, one after the other."""
    manifests = [item for path, item in bundle.items() if path.startswith("manifests/")]
    versions = [item for item in manifests if item["kind"] == "ClusterServiceVersion"]
    yield from _labels(bundle.get("metadata/annotations.yaml", {}).get("annotations", {}))
    for item in manifests:
        if item["kind"] not in KINDS:
            yield f"OLM installs no {item['kind']}"
        if item["kind"] in ("Service", "PodDisruptionBudget") and "namespace" in item["metadata"]:
            yield f"{item['kind']} {item['metadata']['name']} has a namespace"
    if len(versions) != 1:
        yield f"one ClusterServiceVersion is needed, there are {len(versions)}"
        return
    yield from _service_version(versions[0])
    definitions = [item for item in manifests if item["kind"] == "CustomResourceDefinition"]
    yield from _owned(versions[0], definitions)


def _labels(labels: Mapping[str, str]) -> Iterator[str]:
    prefix = "operators.operatorframework.io.bundle."
    for name in REQUIRED:
        if not labels.get(f"{prefix}{name}"):
            yield f"annotations.yaml has no {prefix}{name}"
    default = labels.get(f"{prefix}channel.default.v1", "")
    channels = labels.get(f"{prefix}channels.v1", "").split(",")
    if default and default not in channels:
        yield f"the default channel {default} is none of {', '.join(channels)}"


def _service_version(item: Json) -> Iterator[str]:
    spec, metadata = item["spec"], item["metadata"]
    name = f"[a-z0-9]([-a-z0-9]*[a-z0-9])?\\.v{_SEMVER}"
    if not re.fullmatch(name, metadata["name"]):
        yield f"metadata.name {metadata['name']} has not the form NAME.vX.Y.Z"
    if not metadata["name"].endswith(f".v{spec.get('version')}"):
        yield f"metadata.name {metadata['name']} has another version than spec.version"
    for field in ("displayName", "description", "keywords", "maturity", "links", "maintainers"):
        if not spec.get(field):
            yield f"spec.{field} is missing"
    if not re.fullmatch(_SEMVER, spec.get("minKubeVersion", "")):
        yield "spec.minKubeVersion has not the form X.Y.Z"
    if not spec.get("provider", {}).get("name"):
        yield "spec.provider.name is missing"
    for person in spec.get("maintainers", ()):
        if not person.get("name") or not re.fullmatch(r"[^@\s]+@[^@\s]+", person.get("email", "")):
            yield f"spec.maintainers: {person} needs a name and an email address"
    for link in spec.get("links", ()):
        if not link.get("name") or not re.match(r"https?://", link.get("url", "")):
            yield f"spec.links: {link} needs a name and a url"
    icons = spec.get("icon", [])
    if len(icons) != 1 or icons[0]["mediatype"] not in ICONS or not icons[0]["base64data"]:
        yield f"spec.icon must have one icon of {', '.join(ICONS)}"
    yield from _annotations(metadata.get("annotations", {}), spec)
    yield from _install(spec)


def _annotations(annotations: Mapping[str, str], spec: Json) -> Iterator[str]:
    if annotations.get("capabilities") not in CAPABILITIES:
        yield f"capabilities is none of {', '.join(CAPABILITIES)}"
    for category in annotations.get("categories", "").split(","):
        if category not in CATEGORIES:
            yield f"{category!r} is no category of OperatorHub"
    for field in ("containerImage", "createdAt", "support"):
        if not annotations.get(field):
            yield f"the annotation {field} is missing"
    owned = {
        (each["name"].partition(".")[2], each["version"], each["kind"])
        for each in spec["customresourcedefinitions"]["owned"]
    }
    try:
        examples = json.loads(annotations.get("alm-examples", ""))
        kinds = {(*each["apiVersion"].split("/"), each["kind"]) for each in examples}
    except (ValueError, KeyError, TypeError):
        yield "alm-examples is no JSON list of resources"
        return
    for kind in sorted(kinds - owned):
        yield f"alm-examples has {'/'.join(kind)}, which the bundle does not own"
    for kind in sorted(owned - kinds):
        yield f"alm-examples has no {'/'.join(kind)}"


def _install(spec: Json) -> Iterator[str]:
    modes = [mode["type"] for mode in spec.get("installModes", ())]
    if sorted(modes) != sorted(INSTALL_MODES):
        yield f"spec.installModes must have each of {', '.join(INSTALL_MODES)} once"
    if not any(mode["supported"] for mode in spec.get("installModes", ())):
        yield "spec.installModes supports none"
    install = spec.get("install", {})
    if install.get("strategy") != "deployment" or not install["spec"].get("deployments"):
        yield "spec.install has no deployment"
        return
    granted = {
        each["serviceAccountName"]
        for kind in ("permissions", "clusterPermissions")
        for each in install["spec"].get(kind, ())
    }
    related = {each["image"] for each in spec.get("relatedImages", ())}
    for deployment in install["spec"]["deployments"]:
        pod, name = deployment["spec"]["template"]["spec"], deployment["name"]
        if pod.get("serviceAccountName") not in granted:
            yield f"deployment {name}: its ServiceAccount has no permissions"
        for container in pod["containers"]:
            if not container.get("resources", {}).get("requests"):
                yield f"deployment {name}: container {container['name']} has no requests"
            if container["image"] not in related:
                yield f"spec.relatedImages lacks {container['image']}"


def _owned(item: Json, definitions: list[Json]) -> Iterator[str]:
    owned = {
        (each["name"], each["version"], each["kind"])
        for each in item["spec"]["customresourcedefinitions"]["owned"]
    }
    there = {
        (each["metadata"]["name"], version["name"], each["spec"]["names"]["kind"])
        for each in definitions
        for version in each["spec"]["versions"]
    }
    for kind in sorted(owned - there):
        yield f"{' '.join(kind)} is owned, and not in the bundle"
    for kind in sorted(there - owned):
        yield f"{' '.join(kind)} is in the bundle, and not owned"
    for each in item["spec"]["customresourcedefinitions"]["owned"]:
        for field in ("displayName", "description"):
            if not each.get(field):
                yield f"owned {each['kind']} has no {field}"
