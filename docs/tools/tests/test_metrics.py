"""The page of the metrics has those that there are."""

from docs.tools.metrics import PAGE, SOURCES, Metric, declared, generated, listed, operator_table

NODES = PAGE.read_text().partition("## The operator")[0]


def test_names_on_a_page_are_read() -> None:
    assert listed("`partisan_{a,b}_total{x,y}`, `lasp_c`, `process_*`, `other_d`") == {
        Metric("partisan_a_total", ("x", "y")),
        Metric("partisan_b_total", ("x", "y")),
        Metric("lasp_c", ()),
    }


def test_every_metric_of_the_nodes_is_on_the_page() -> None:
    assert len(declared()) >= 20
    assert declared() - listed(NODES) == set()


def test_every_metric_on_the_page_is_one_of_the_nodes() -> None:
    sources = "\n".join(source.read_text() for source in SOURCES.glob("*/src/**/*.erl"))
    named = listed(NODES) - {Metric("partisan_cluster", ())}
    assert [str(metric) for metric in named if metric.name not in sources] == []


def test_the_operators_metrics_are_in_the_table() -> None:
    table = operator_table()
    assert "| `partisan_operator_leader{lease}` | gauge |" in table
    assert "| `partisan_operator_api_calls_total{verb,kind,code}` | counter |" in table
    assert "| `partisan_operator_cluster_paused{namespace,partisan_cluster}` | gauge |" in table


def test_the_page_is_as_generated() -> None:
    assert PAGE.read_text() == generated(PAGE.read_text()), "make reference"
