"""Dashboards and alerts against a real Prometheus that scraped a real run with a fault in it."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import datetime

import pytest

from charts.tools.alerts import chart_alerts
from charts.tools.dashboards.files import committed, metrics
from scale_tests.benches.dashboards.pictures import Range, draw
from scale_tests.benches.dashboards.watched import (
    MOST_SERIES,
    answered,
    chain,
    connect_unauthenticated,
    evaluated_rules,
    firing,
    history,
    kept_away,
    labels_of,
    wait_firing,
    wait_operator_scraped,
    wait_quiet,
    wait_run_scraped,
    wait_scraped,
)
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, core
from scale_tests.cluster.monitoring import prometheus as monitoring
from scale_tests.cluster.monitoring.cardinality import (
    FIXED,
    PER_CHANNEL,
    bound,
    measure,
    node_series,
)
from scale_tests.cluster.monitoring.cardinality import NODES as NODES_AT_MOST
from scale_tests.cluster.monitoring.prometheus import Prometheus
from scale_tests.cluster.removal import remove_namespace, renew_namespace
from scale_tests.cluster.sealing import sealed, secret
from scale_tests.cluster.subject import LASTING, Subject, counter, kill_pod
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.outcomes import wait_replaced
from scale_tests.localkube.certificates import issue_authority
from scale_tests.measure.document import RESULTS

NODES = 8


@pytest.fixture(scope="module")
def prometheus(environment: Environment) -> Iterator[Prometheus]:
    """The Prometheus of the cluster; one that was not there before is removed again."""
    path = f"api/v1/namespaces/{monitoring.NAMESPACE}"
    before = Cluster(environment.kubeconfig).find(path)
    yield monitoring.install(environment)
    if before is None:
        monitoring.uninstall(environment)


@pytest.fixture(scope="module")
def broken(
    environment: Environment, cluster: Cluster, prometheus: Prometheus
) -> Iterator[tuple[Subject, ExitStack]]:
    """A partitioned cluster, and the stack that heals it: alerts take minutes, other tests go on.

    It has a namespace of its own, in which no other pod can start.
    """
    wait_operator_scraped(prometheus)
    made = Subject(environment, cluster, "e2e-monitoring-broken", "chain")
    renew_namespace(cluster, made.namespace)
    made.apply(chain(made.name)).wait_steady()
    with ExitStack() as fault:
        fault.enter_context(kept_away(made, "chain-1"))
        yield made, fault
    remove_namespace(cluster, made.namespace)


@pytest.fixture(scope="module")
def subject(
    prometheus: Prometheus,
    broken: tuple[Subject, ExitStack],
    new_subject: NewSubject,
    cluster: Cluster,
    tmp_path_factory: pytest.TempPathFactory,
) -> Subject:
    """A cluster with TLS after its run, with a killed node and a refused unauthenticated peer."""
    made = new_subject("watched")
    authority = tmp_path_factory.mktemp("authority")
    issue_authority(authority)
    cluster.create(core(made.namespace, "secrets"), secret(made, authority))
    body = sealed(made, NODES)
    body["spec"]["workload"] = {"adCounter": counter(NODES, LASTING)}
    made.apply(body).wait_counted(NODES * 5)
    wait_scraped(prometheus, made, "sum(up{%s})", NODES)
    connect_unauthenticated(made, "watched-0")
    kill_pod(made, "watched-3")
    wait_replaced(made, 1)
    made.end_run()
    wait_run_scraped(prometheus, made, NODES)
    return made


def created(subject: Subject) -> float:
    """When a cluster was created, in seconds since 1970."""
    text = subject.json()["metadata"]["creationTimestamp"]
    return datetime.fromisoformat(text).timestamp()


@pytest.fixture(scope="module")
def shown(prometheus: Prometheus, subject: Subject) -> Range:
    """The time range and the variables of a dashboard that shows the cluster."""
    end = time.time()
    return Range(
        prometheus=prometheus,
        namespace=subject.namespace,
        cluster=subject.name,
        start=min(end - 600, created(subject)),
        end=end,
    )


def test_every_query_of_every_dashboard_returns_data_and_not_too_much(
    shown: Range,
) -> None:
    found = answered(committed().values(), lambda panel: shown)
    assert [query for query, series in found.items() if not series] == []
    assert [query for query, series in found.items() if series > MOST_SERIES] == []


def test_every_metric_of_an_alert_is_emitted(prometheus: Prometheus, subject: Subject) -> None:
    wanted = {name for alert in chart_alerts() for name in metrics(alert.expression)}
    assert len(wanted) > 15
    # Of clusters whose authority is the operator's; this one brings its own Secret.
    wanted.remove("partisan_operator_cluster_certificate_renewal_timestamp_seconds")
    assert {name for name in wanted if not prometheus.query(f"count({name})")} == set()


def test_prometheus_evaluates_every_alert_and_none_fires_for_a_cluster_that_healed(
    prometheus: Prometheus, subject: Subject
) -> None:
    rules = evaluated_rules(prometheus)
    assert {rule["name"] for rule in rules} == {alert.name for alert in chart_alerts()}
    assert [rule for rule in rules if rule["health"] != "ok"] == []
    wait_for(
        "the end of all alerts",
        lambda: firing(prometheus, labels_of(subject)),
        lambda names: not names,
    )


def test_the_alert_of_a_lasting_fault_is_pending_then_fires_and_ends_with_it(
    prometheus: Prometheus, broken: tuple[Subject, ExitStack]
) -> None:
    alert, (made, fault) = "PartisanFixedOverlayPartitioned", broken
    wait_firing(prometheus, made, alert)
    fault.close()
    made.wait_steady()
    wait_quiet(prometheus, made, alert)
    # An earlier cluster of this name may have had its own alert.
    start = created(made)
    changes = history(prometheus, alert, labels_of(made), start=start, end=time.time())
    states = [state for _, state in changes]
    # A scrape that a busy machine misses interrupts what is pending.
    assert "pending firing inactive" in " ".join(states)
    assert states[-1] == "inactive"


def test_the_fault_shows(prometheus: Prometheus, subject: Subject) -> None:
    labels = labels_of(subject)
    down = f'sum(partisan_overlay_events_total{{{labels}, event="neighbour_down"}})'
    refused = f"sum(partisan_refused_connections_total{{{labels}}})"
    wait_for(
        "both in Prometheus",
        lambda: (prometheus.value(down) or 0, prometheus.value(refused) or 0),
        all,
    )


def test_a_node_makes_a_bounded_number_of_series(
    prometheus: Prometheus, subject: Subject, broken: tuple[Subject, ExitStack]
) -> None:
    for made in (subject, broken[0]):
        series = node_series(made.metrics(f"{made.name}-0"))
        assert max(series.channels.values()) <= PER_CHANNEL
        assert series.fixed <= FIXED
        # Nodes are the pods; the operator's series of a cluster are scraped from a Service.
        nodes = f'{{job=~".*-nodes", {labels_of(made)}}}'
        most = prometheus.value(f"max(count by (pod) ({nodes}))")
        assert most is not None
        assert most <= bound(len(series.channels))


def test_the_largest_cluster_makes_as_many_series_as_its_nodes_together(subject: Subject) -> None:
    page = subject.metrics("watched-0")
    series = node_series(page)
    load = measure(page, interval="5s")
    assert load.series == NODES_AT_MOST * series.total
    assert load.series <= NODES_AT_MOST * bound(len(series.channels))


def test_every_dashboard_can_be_drawn(subject: Subject, shown: Range) -> None:
    for dashboard in committed().values():
        for file in draw(dashboard, shown.ask, RESULTS, subject.name):
            assert file.stat().st_size > 0
