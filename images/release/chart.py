"""The chart as a package and as an OCI artifact, and the same objects as one manifest.

The packaged chart's values name the release's images, so that it is installed without arguments.
"""

import re
import tempfile
from pathlib import Path

import yaml

from charts.tools.definition import oldest
from images.release import archive, oci
from images.release.plan import Plan
from images.release.version import ReleaseError
from scale_tests.cluster.operator import CHART, NAMESPACE, RELEASE, helm
from scale_tests.host.commands import ROOT, capture

NAME = Path(CHART).name
CONFIG = "application/vnd.cncf.helm.config.v1+json"
CONTENT = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"

LEFT_OUT = ("tests", ".helmignore")
"""Unit tests of the templates, and the list that leaves them out."""

IMAGES = {"image": "operator", "nodeImage": "erlang-node"}
"""The release's images, by the key of the chart's values."""


def files(plan: Plan, chart: Path = ROOT / CHART) -> dict[str, bytes]:
    """The files of the packaged chart, by their paths in it."""
    found = {
        path.relative_to(chart).as_posix(): path.read_bytes()
        for path in sorted(chart.rglob("*"))
        if path.is_file() and path.relative_to(chart).parts[0] not in LEFT_OUT
    }
    found["values.yaml"] = with_images(found["values.yaml"].decode(), plan).encode()
    return found


def with_images(values: str, plan: Plan) -> str:
    """The chart's values with the repositories of a release. Raises ReleaseError."""
    for key, name in IMAGES.items():
        pattern = rf"(^{key}:\n(?:  .*\n)*?  repository: )\S+$"
        repository = f"{plan.registry}/{name}"
        values, found = re.subn(pattern, rf"\g<1>{repository}", values, flags=re.MULTILINE)
        if found != 1:
            raise ReleaseError(f"values.yaml has no repository of {key}")
    return values


def package(plan: Plan) -> None:
    """Writes the package, and the same as an archive for registries."""
    content = {f"{NAME}/{path}": file for path, file in files(plan).items()}
    packed = archive.compressed(archive.tar(content))
    plan.file(f"{NAME}-{plan.version}.tgz").write_bytes(packed)
    metadata = yaml.safe_load(content[f"{NAME}/Chart.yaml"])
    oci.write_artifact(
        plan.file(f"{NAME}-{plan.version}-chart.oci.tar"),
        f"{plan.registry}/charts/{NAME}:{plan.version}",
        oci.document(CONFIG, metadata),
        [oci.Blob(CONTENT, packed)],
    )


def rendered(plan: Plan, *values: str) -> list[oci.Json]:
    """The objects of the packaged chart for the oldest Kubernetes, rendered with `values`.

    Raises ExpectedError.
    """
    kubernetes = f"{oldest()}.0"
    with tempfile.TemporaryDirectory() as directory:
        for path, content in files(plan).items():
            target = Path(directory, NAME, path)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        settings = [argument for value in values for argument in ("--set", value)]
        text = capture(
            [
                *(helm(), "template", RELEASE, f"{directory}/{NAME}"),
                *("--namespace", NAMESPACE, "--kube-version", kubernetes, "--no-hooks", *settings),
            ]
        )
    return [item for item in yaml.safe_load_all(text) if item]


def manifest(plan: Plan) -> str:
    """One manifest with the namespace, the CRD and the operator, for `kubectl apply`.

    Its objects are not Helm's: they say so, lest Helm refuses them or is asked about them. Raises
    ExpectedError.
    """
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    objects = [namespace, *(without_helm(item) for item in rendered(plan))]
    head = (
        f"# Partisan operator {plan.version}: kubectl apply --server-side -f install.yaml\n"
        "# The CRD is too large for a client-side apply.\n"
    )
    return head + yaml.safe_dump_all(objects, sort_keys=False, width=100)


def without_helm(item: oci.Json) -> oci.Json:
    """An object, and the template of its pods, without Helm's labels and annotations."""
    metadata = dict(item["metadata"])
    labels = {k: v for k, v in metadata.get("labels", {}).items() if k not in _HELM}
    annotations = {k: v for k, v in metadata.get("annotations", {}).items() if k not in _HELM}
    metadata = {k: v for k, v in metadata.items() if k not in ("labels", "annotations")}
    metadata |= {"labels": labels} if labels else {}
    metadata |= {"annotations": annotations} if annotations else {}
    result = {**item, "metadata": metadata}
    if item["kind"] == "Deployment":
        template = without_helm(item["spec"]["template"] | {"kind": "PodTemplate"})
        del template["kind"]
        result["spec"] = {**item["spec"], "template": template}
    return result


_HELM = ("app.kubernetes.io/managed-by", "helm.sh/chart", "helm.sh/resource-policy")


def write_manifest(plan: Plan) -> None:
    """Writes the manifest. Raises ExpectedError."""
    plan.file("install.yaml").write_text(manifest(plan))
