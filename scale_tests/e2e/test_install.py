"""The Prometheus operator: the chart's monitoring, and docs/guides/install.md to the letter."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from charts.tools.__main__ import VARIANTS
from charts.tools.dashboards.files import committed
from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, core
from scale_tests.cluster.monitoring import prometheus as monitoring
from scale_tests.cluster.partisan import read_cluster
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e import kinds
from scale_tests.e2e.foreign_crds import GROUP, definitions
from scale_tests.e2e.reader import Reader, blocks
from scale_tests.host.commands import ROOT

pytestmark = pytest.mark.alone(installs=True)
"""Installs the operator again, as on the page."""

PAGE = ROOT / "docs" / "guides" / "install.md"


@pytest.fixture(scope="module")
def prometheus_operator_kinds(environment: Environment, cluster: Cluster) -> Iterator[None]:
    """The Prometheus operator's definitions, for a while; the release goes with them."""
    wanted = definitions()
    kinds.define(environment, cluster, wanted)
    yield
    # Helm cannot touch a release that holds objects of a kind that is gone.
    operator.uninstall_release(environment)
    kinds.forget(cluster, wanted)


@pytest.mark.usefixtures("prometheus_operator_kinds")
def test_with_the_prometheus_operator_the_api_server_accepts_monitors_and_rules(
    environment: Environment, cluster: Cluster
) -> None:
    rendered = monitoring.chart_objects()
    # The API server refuses a missing namespace, and extra objects that are not valid.
    excluded = ("metrics.dashboards.namespace", "extraObjects")
    everything = [v for v in VARIANTS["everything"] if not v.startswith(excluded)]
    for objects in (rendered, monitoring.chart_objects(*everything)):
        # On the server's side, as the CRD is too large for the annotation of a plain apply.
        how = ("--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict")
        places = [item["metadata"].get("namespace", operator.NAMESPACE) for item in objects]
        for place in sorted(set(places)):
            there = [item for item, where in zip(objects, places, strict=True) if where == place]
            text = yaml.safe_dump_all(there)
            operator.kubectl(environment, "apply", *how, "-n", place, "-f", "-", stdin=text)
    # Values of `auto` take effect with the next upgrade.
    operator.install(environment)
    for kind in ("PodMonitor", "ServiceMonitor", "PrometheusRule"):
        path = f"apis/{GROUP}/v1/namespaces/{operator.NAMESPACE}/{kind.lower()}s"
        found = [item["metadata"]["name"] for item in cluster.list(path)]
        assert found == [item["metadata"]["name"] for item in rendered if item["kind"] == kind]
    dashboards = cluster.list(core(operator.NAMESPACE, "configmaps"), "grafana_dashboard=1")
    assert len(dashboards) == len(committed())


@pytest.mark.usefixtures("prometheus_operator_kinds")
def test_following_the_page_gives_a_cluster_and_its_dashboards(
    environment: Environment, cluster: Cluster, namespace: str, tmp_path: Path
) -> None:
    # A reader of the page uses the default namespace; the tests have one of their own.
    longer = {"--wait": "--wait --timeout=15m", "--timeout=5m": "--timeout=15m"}
    reader = Reader(environment, tmp_path, namespace=namespace, replacing=longer)
    install, elected, _, made = blocks(PAGE, "The operator")
    said = reader.follows(install)
    assert "Phase:          Succeeded" in said
    leader = wait_for("an operator that acts", lambda: operator.leader(cluster), bool)
    assert f"{leader}_" in reader.follows(elected).splitlines()[-1]
    said = reader.follows(made)
    for kind in ("podmonitor", "servicemonitor", "prometheusrule"):
        assert f"{kind}.{GROUP}/partisan-operator" in said
    for name in committed():
        assert f"partisan-operator-dashboard-{name}" in said
    (apply,) = blocks(PAGE, "A cluster")
    assert re.search(r"^ads +HyParView +32 +32 +32 ", reader.follows(apply), re.MULTILINE)
    assert read_cluster(cluster, namespace, "ads").components == 1
    (upgrade_and_back,) = blocks(PAGE, "The next version")
    assert "Rollback was a success" in reader.follows(upgrade_and_back)
