"""Dashboards and alerts against a real Prometheus that scraped a real run with a fault in it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
import yaml

from scale_tests.chart.alerts import chart_alerts
from scale_tests.dashboards.files import committed, metrics, panels
from scale_tests.dashboards.pictures import Range, answer, draw, numbers, range_of
from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.subject import Subject, kill_pod
from scale_tests.e2e.test_security import sealed, secret
from scale_tests.harness import operator
from scale_tests.harness.environment import Environment
from scale_tests.harness.kube import ApiError, Cluster, core
from scale_tests.harness.progress import wait_for
from scale_tests.localkube.certificates import issue_authority
from scale_tests.monitoring import prometheus as monitoring
from scale_tests.monitoring.definitions import GROUP, definitions
from scale_tests.monitoring.prometheus import Prometheus
from scale_tests.results.document import RESULTS

NODES = 8
SERIES_PER_NODE = 300
"""The most series that one node may make: some 300,000 at 1,024 nodes, which a Prometheus bears."""

COUNTER = {"impressions": NODES * 60, "incrementInterval": "500ms", "propagationInterval": "250ms"}
DEFINITIONS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"


@pytest.fixture(scope="module")
def prometheus(environment: Environment) -> Iterator[Prometheus]:
    """The Prometheus of the cluster; one that was not there before is removed again."""
    path = f"api/v1/namespaces/{monitoring.NAMESPACE}"
    before = Cluster(environment.kubeconfig).find(path)
    yield monitoring.install(environment)
    if before is None:
        monitoring.uninstall(environment)


@pytest.fixture(scope="module")
def subject(
    prometheus: Prometheus,
    new_subject: NewSubject,
    cluster: Cluster,
    tmp_path_factory: pytest.TempPathFactory,
) -> Subject:
    """A cluster with TLS whose run ended, after a node was killed and a stranger turned away."""
    # A counter that has grown before it is first scraped has not grown for Prometheus.
    wait_for(
        "the operator to be scraped",
        lambda: prometheus.value("count(partisan_operator_apply_to_ready_seconds_count)"),
        lambda value: (value or 0) >= 1,
    )
    made = new_subject("watched")
    authority = tmp_path_factory.mktemp("authority")
    issue_authority(authority)
    cluster.create(core(made.namespace, "secrets"), secret(made, authority))
    body = sealed(made, NODES)
    body["spec"]["workload"] = {"adCounter": COUNTER}
    made.apply(body).wait_counted(NODES * 5)
    scraped(prometheus, made, "sum(up{%s})", NODES)
    with pytest.raises(ApiError):
        # What a web client says to the port that nodes talk on.
        cluster.text(core(made.namespace, "pods", "watched-0:7946/proxy/"))
    kill_pod(made, "watched-3")
    made.wait_finished()
    scraped(prometheus, made, "sum(up{%s})", NODES)
    scraped(prometheus, made, "sum(adcounter_converged{%s})", NODES)
    scraped(prometheus, made, "min(partisan_operator_cluster_convergence_seconds{%s}) > bool 0", 1)
    return made


@pytest.fixture(scope="module")
def shown(subject: Subject) -> Range:
    """The time range and the variables of a dashboard that shows the cluster."""
    end = time.time()
    return range_of(subject.namespace, subject.name, end - 600, end)


def scraped(prometheus: Prometheus, subject: Subject, expression: str, wanted: float) -> None:
    """Waits until Prometheus has scraped what makes the expression so large."""
    labels = f'namespace="{subject.namespace}", partisan_cluster="{subject.name}"'
    wait_for(
        f"{expression} of {wanted:g}",
        lambda: prometheus.value(expression % labels),
        lambda value: value == wanted,
    )


def test_every_query_of_every_dashboard_returns_data(prometheus: Prometheus, shown: Range) -> None:
    empty = [
        f"{panel.dashboard} / {panel.title}: {query.expression}"
        for dashboard in committed().values()
        for panel in panels(dashboard)
        for query in panel.queries
        if not numbers(answer(prometheus, query, shown))
    ]
    assert not empty, "\n".join(empty)


def test_every_metric_of_an_alert_is_emitted(prometheus: Prometheus, subject: Subject) -> None:
    wanted = {name for alert in chart_alerts() for name in metrics(alert.expression)}
    assert len(wanted) > 15
    assert {name for name in wanted if not prometheus.query(f"count({name})")} == set()


def test_prometheus_evaluates_every_alert_and_none_fires_for_a_cluster_that_healed(
    prometheus: Prometheus, subject: Subject
) -> None:
    rules = wait_for(
        "evaluation of all rules",
        prometheus.rules,
        lambda rules: all(rule["health"] != "unknown" for rule in rules),
    )
    assert {rule["name"] for rule in rules} == {alert.name for alert in chart_alerts()}
    assert [rule for rule in rules if rule["health"] != "ok"] == []
    firing = [
        alert["labels"]["alertname"]
        for rule in rules
        for alert in rule["alerts"]
        if alert["state"] == "firing" and alert["labels"].get("namespace") == subject.namespace
    ]
    assert firing == []


def test_the_fault_shows(prometheus: Prometheus, subject: Subject) -> None:
    labels = f'namespace="{subject.namespace}", partisan_cluster="{subject.name}"'
    down = f'sum(partisan_overlay_events_total{{{labels}, event="neighbour_down"}})'
    refused = f"sum(partisan_refused_connections_total{{{labels}}})"
    assert (prometheus.value(down) or 0) > 0
    assert (prometheus.value(refused) or 0) > 0


def test_a_node_makes_a_bounded_number_of_series(prometheus: Prometheus, subject: Subject) -> None:
    labels = f'namespace="{subject.namespace}", partisan_cluster="{subject.name}"'
    most = prometheus.value(f"max(scrape_samples_post_metric_relabeling{{{labels}}})")
    assert most is not None
    assert most <= SERIES_PER_NODE


def test_every_dashboard_can_be_drawn(
    prometheus: Prometheus, subject: Subject, shown: Range
) -> None:
    for dashboard in committed().values():
        for file in draw(
            dashboard, lambda query: answer(prometheus, query, shown), RESULTS, subject.name
        ):
            assert file.stat().st_size > 0


@pytest.fixture
def prometheus_operator_kinds(environment: Environment, cluster: Cluster) -> Iterator[None]:
    """The Prometheus operator's definitions, for a while; the release is without them after."""
    wanted = definitions()
    operator.kubectl(
        environment,
        *("apply", "--server-side", "-f", "-"),
        stdin=yaml.safe_dump_all(wanted),
    )
    names = [item["metadata"]["name"] for item in wanted]
    operator.kubectl(
        environment, "wait", "--for=condition=Established", *(f"crd/{name}" for name in names)
    )
    yield
    # Helm cannot touch a release that holds objects of a kind that is gone.
    parts = ("podMonitor", "serviceMonitor", "prometheusRule", "dashboards")
    operator.install(environment, values=[f"--set=metrics.{part}.enabled=false" for part in parts])
    for name in names:
        cluster.delete(f"{DEFINITIONS}/{name}")
    wait_for(
        "end of the definitions",
        lambda: [name for name in names if cluster.find(f"{DEFINITIONS}/{name}")],
        lambda left: not left,
    )
    operator.install(environment)


@pytest.mark.usefixtures("prometheus_operator_kinds")
def test_where_the_prometheus_operator_is_the_api_server_takes_monitors_and_rules(
    environment: Environment, cluster: Cluster
) -> None:
    rendered = monitoring.chart_objects()
    dry_run = ("apply", "--dry-run=server", "--validate=strict", "-n", operator.NAMESPACE)
    operator.kubectl(environment, *dry_run, "-f", "-", stdin=yaml.safe_dump_all(rendered))
    # What is `auto` comes by itself with the next upgrade.
    operator.install(environment)
    for kind in ("PodMonitor", "ServiceMonitor", "PrometheusRule"):
        path = f"apis/{GROUP}/v1/namespaces/{operator.NAMESPACE}/{kind.lower()}s"
        found = [item["metadata"]["name"] for item in cluster.list(path)]
        assert found == [item["metadata"]["name"] for item in rendered if item["kind"] == kind]
    dashboards = cluster.list(core(operator.NAMESPACE, "configmaps"), "grafana_dashboard=1")
    assert len(dashboards) == len(committed())
