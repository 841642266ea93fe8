"""Whether the oldest Kubernetes that the chart allows accepts the CRD.

API servers up to 1.33 estimate several times the cost of a rule that later ones do, and reject a
CRD whose rules are too expensive. The end-to-end tests run on a later version.
"""

import re
from pathlib import Path

import yaml

from scale_tests.cluster.operator import CHART
from scale_tests.host.commands import ROOT, CommandError, ExpectedError, capture
from scale_tests.localkube.toolset import Toolset, module_version

DEFINITION = "crds/partisanclusters.yaml"
TOOLSET = Toolset(
    name="oldest-kubernetes",
    directory=Path(__file__).with_name("oldest"),
    programs={"validate": "./validate"},
)


def oldest() -> str:
    """The oldest Kubernetes that the chart allows, as `1.30`. Raises ExpectedError: another one."""
    allowed = str(yaml.safe_load((ROOT / CHART / "Chart.yaml").read_text())["kubeVersion"])
    minor = module_version("k8s.io/apiextensions-apiserver", TOOLSET.directory).split(".")[1]
    if not re.fullmatch(rf">=1\.{minor}\.0-0", allowed):
        raise ExpectedError(
            f"Chart.yaml has kubeVersion {allowed}, and the CRD is checked with 1.{minor}: "
            f"change {TOOLSET.directory.relative_to(ROOT)}/go.mod with it"
        )
    return f"1.{minor}"


def check_definition() -> str:
    """Checks the CRD with that release; returns the release. Raises ExpectedError."""
    release = oldest()
    validate = TOOLSET.ensure_built() / "validate"
    try:
        capture([str(validate), DEFINITION])
    except CommandError as error:
        raise ExpectedError(f"Kubernetes {release} rejects {DEFINITION}:\n{error.output}") from None
    return release
