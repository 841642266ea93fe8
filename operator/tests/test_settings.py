"""Settings from the environment."""

import pytest

from partisan_operator.settings import Settings, SettingsError


def read(**variables: str) -> Settings:
    return Settings.from_environment({f"PARTISAN_OPERATOR_{k}": v for k, v in variables.items()})


def test_an_empty_environment_gives_the_defaults() -> None:
    assert read() == Settings()
    assert read(NODE_IMAGE="", INTERVAL=" ", WATCH_NAMESPACES="") == Settings()


def test_all_variables() -> None:
    assert read(
        NODE_IMAGE="node:2",
        MAX_ROLLING_CLUSTERS="3",
        WATCH_NAMESPACES="a, b,",
        INTERVAL="5s",
        ACTIVE_INTERVAL="500ms",
        RESYNC_INTERVAL="2m",
        SCRAPE_TIMEOUT="1s",
        SCRAPE_CONCURRENCY="8",
        METRICS_PORT="0",
        NODES_MONITORED="true",
        CONSOLE_PORT="8090",
        CONSOLE_TOKEN="/token",
        POD_NAME="op-1",
        POD_NAMESPACE="system",
        SERVICE_ACCOUNT="op",
        LOG_LEVEL="DEBUG",
        LOG_FORMAT="json",
    ) == Settings(
        node_image="node:2",
        max_rolling_clusters=3,
        namespaces=("a", "b"),
        idle_period=5.0,
        active_period=0.5,
        resync_period=120.0,
        scrape_timeout=1.0,
        scrape_concurrency=8,
        metrics_port=0,
        nodes_monitored=True,
        console_port=8090,
        console_token="/token",
        pod_name="op-1",
        pod_namespace="system",
        service_account="op",
        log_level="debug",
        log_format="json",
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("INTERVAL", "5"),
        ("METRICS_PORT", "http"),
        ("CONSOLE_PORT", "http"),
        ("METRICS_PORT", "65536"),
        ("CONSOLE_PORT", "70000"),
        ("CONSOLE_PORT", "9090"),
        ("SCRAPE_CONCURRENCY", "0"),
        ("NODES_MONITORED", "yes"),
        ("MAX_ROLLING_CLUSTERS", "all"),
        ("LOG_LEVEL", "loud"),
        ("LOG_FORMAT", "xml"),
    ],
)
def test_an_unusable_value_is_named(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=f"PARTISAN_OPERATOR_{name}.*{value}"):
        read(**{name: value})


def test_annotations_are_allowed_by_name_and_none_when_the_list_is_empty() -> None:
    name = "PARTISAN_OPERATOR_ALLOWED_POD_ANNOTATIONS"
    assert "prometheus.io/*" in Settings.from_environment({}).allowed_pod_annotations
    allowed = Settings.from_environment({name: "a.io/*, b.io/c"}).allowed_pod_annotations
    assert allowed == ("a.io/*", "b.io/c")
    assert Settings.from_environment({name: ""}).allowed_pod_annotations == ()
