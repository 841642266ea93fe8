"""Lints, renders and unit-tests the chart, and what belongs to it: README, alerts, values."""

import sys
from pathlib import Path

import yaml

from charts.tools.alerts import check_alerts, check_queries
from charts.tools.definition import check_definition
from charts.tools.previous import check_values, check_version, unpacked, version
from charts.tools.readme import check_readme
from scale_tests.cluster.operator import CHART, helm
from scale_tests.host.commands import ROOT, ExpectedError, capture, stream

TOOLS = "charts/tools/go"
KUBE_VERSION = "1.36.3"
"""Version for which templates are rendered; without a cluster, helm assumes its own default."""

VARIANTS: dict[str, list[str]] = yaml.safe_load(
    Path(__file__).with_name("variants.yaml").read_text()
)
"""Values that together reach every branch of the templates."""


def main() -> int:
    """Runs all checks; returns the exit status."""
    chart = ROOT / CHART
    try:
        check_readme()
        check_alerts()
        print(f"dashboards: {check_queries()} queries")
        program = helm()
        stream([program, "lint", "--strict", "--quiet", "--kube-version", KUBE_VERSION, CHART])
        for name, values in VARIANTS.items():
            settings = [argument for value in values for argument in ("--set", value)]
            rendered = capture(
                [program, "template", "x", CHART, "--kube-version", KUBE_VERSION, *settings]
            )
            objects = [item for item in yaml.safe_load_all(rendered) if item]
            print(f"chart: {name}: {len(objects)} objects")
        print(f"definition: Kubernetes {check_definition()} takes it")
        check_version()
        check_values()
        print(f"chart: {version(CHART)} takes the values of {version(unpacked())}")
        stream(["go", "-C", TOOLS, "tool", "helm-unittest", str(chart)])
    except ExpectedError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
