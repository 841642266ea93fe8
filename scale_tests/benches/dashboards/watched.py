"""A cluster as a Prometheus sees it, and what happens to it from outside."""

from scale_tests.cluster.kube import ApiError, core
from scale_tests.cluster.monitoring.prometheus import Prometheus
from scale_tests.cluster.subject import Subject
from scale_tests.cluster.wait import wait_for

PENDING_SECONDS = 300.0
"""Seconds for which an alert may be pending: the chart's wait for minutes."""


def labels_of(subject: Subject) -> str:
    """The selector of a cluster's series."""
    return f'namespace="{subject.namespace}", partisan_cluster="{subject.name}"'


def wait_operator_scraped(prometheus: Prometheus) -> None:
    """Waits until the operator that acts has been scraped. Raises StalledError, ApiError.

    A counter that has grown before it is first scraped has not grown for Prometheus.
    """
    wait_for(
        "the operator that acts to be scraped",
        lambda: prometheus.value("max(partisan_operator_leader)"),
        lambda value: value == 1,
    )


def wait_scraped(prometheus: Prometheus, subject: Subject, expression: str, wanted: float) -> None:
    """Waits until the scraped series make an expression so large.

    The cluster's labels stand where the expression has `%s`. Raises StalledError, ApiError.
    """
    wait_for(
        f"{subject.name}: {expression} of {wanted:g}",
        lambda: prometheus.value(expression % labels_of(subject)),
        lambda value: value == wanted,
    )


def wait_run_scraped(prometheus: Prometheus, subject: Subject, nodes: int) -> None:
    """Waits until the end of a cluster's run has been scraped. Raises StalledError, ApiError."""
    wait_scraped(prometheus, subject, "sum(up{%s})", nodes)
    wait_scraped(prometheus, subject, "sum(adcounter_converged{%s})", nodes)
    convergence = "min(partisan_operator_cluster_convergence_seconds{%s}) > bool 0"
    wait_scraped(prometheus, subject, convergence, 1)


def wait_firing(prometheus: Prometheus, subject: Subject, alert: str) -> None:
    """Waits until an alert fires for a cluster. Raises StalledError, ApiError."""
    labels = f'alertname="{alert}", {labels_of(subject)}'
    wait_for(
        f"{alert} to fire",
        lambda: [item["metric"]["alertstate"] for item in prometheus.query(f"ALERTS{{{labels}}}")],
        lambda states: "firing" in states,
        stall_seconds=PENDING_SECONDS,
    )


def wait_quiet(prometheus: Prometheus, subject: Subject, *alerts: str) -> None:
    """Waits until these alerts are neither firing nor pending. Raises StalledError, ApiError."""
    labels = f'alertname=~"{"|".join(alerts)}", {labels_of(subject)}'
    wait_for(
        f"the end of {', '.join(alerts)}",
        lambda: prometheus.query(f"ALERTS{{{labels}}}"),
        lambda left: not left,
    )


def connect_unauthenticated(subject: Subject, pod: str) -> None:
    """Sends HTTP to the port of nodes, as no peer does. Raises ConnectionError: it was accepted."""
    try:
        subject.cluster.text(core(subject.namespace, "pods", f"{pod}:7946/proxy/"))
    except ApiError:
        return
    raise ConnectionError(f"{pod} has answered an unauthenticated peer")
