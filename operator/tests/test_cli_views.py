"""Commands of the plugin that show a cluster, its overlay and its nodes: graph, top, logs, ..."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fake_kubectl import NOW, FakeKubectl, run, written
from partisan_operator.cli import parser
from partisan_operator.cli.access import CommandError
from partisan_operator.cli.commands import top


def test_the_graph_in_the_terminal_lists_neighbours(kubectl: FakeKubectl) -> None:
    del kubectl.reports["ads-3"]
    _, text = run(kubectl, "graph", "ads")
    assert "ads: 3 nodes, 2 links, 1 component, 0 isolated, mean degree 1.3" in text
    assert "ads-0  1       ads-1" in text
    assert "ads-3 did not answer: no route" in text


def test_the_graph_as_dot(kubectl: FakeKubectl) -> None:
    _, text = run(kubectl, "graph", "ads", "-o", "dot")
    assert text.startswith('graph "ads" {')
    assert '"ads-0" -- "ads-3";' in text
    assert text.count("--") == 4


def test_the_graph_as_a_file_of_svg(kubectl: FakeKubectl, tmp_path: Path) -> None:
    _, text = run(kubectl, "graph", "ads", "-o", "svg", "-f", str(tmp_path / "ads.svg"))
    assert "4 nodes, 4 links" in text
    root = ElementTree.parse(tmp_path / "ads.svg").getroot()
    names = [child.tag.rpartition("}")[2] for child in root.iter()]
    assert (names.count("circle"), names.count("line")) == (4, 4)


def test_no_answer_from_any_node_is_one_line(kubectl: FakeKubectl) -> None:
    kubectl.reports.clear()
    with pytest.raises(CommandError, match=r"no node of ads answers, ads-0 .*no route"):
        run(kubectl, "graph", "ads")


def test_a_report_under_another_nodes_name_is_rejected(kubectl: FakeKubectl) -> None:
    kubectl.reports["ads-3"] = kubectl.reports["ads-2"]
    _, text = run(kubectl, "graph", "ads", "-o", "text")
    assert "ads-3 did not answer: it reports as 'ads-2'" in text


def test_top_shows_rates_between_two_scrapes(kubectl: FakeKubectl) -> None:
    now = NOW
    context = replace(kubectl.context(), now=lambda: now)

    def sleep(seconds: float) -> None:
        nonlocal now
        now += timedelta(seconds=seconds)
        for report in kubectl.reports.values():
            report["channels"]["default"]["sent_messages"] += 20

    arguments = parser.build().parse_args(["top", "ads", "--count", "2"])
    assert top.run(context, arguments, sleep=sleep) == 0
    text = written(context)
    rows = [line.split() for line in text.splitlines() if line.startswith("default")]
    # Four nodes, each with 20 messages more every two seconds.
    assert [(row[1], row[4]) for row in rows] == [("40.0", "120"), ("40.0", "200")]


def test_a_report_is_a_page_and_a_picture(kubectl: FakeKubectl, tmp_path: Path) -> None:
    run(kubectl, "report", "ads", "-d", str(tmp_path / "new" / "ads"))
    page = (tmp_path / "new" / "ads" / "report.md").read_text()
    assert "| all ready | 2026-01-01T00:00:04.500Z | 4.5 s |" in page
    assert "![The overlay](overlay.svg)" in page
    assert "partisan 0.1.0 on OTP 25" in page
    assert "Pod/ads-1 Unhealthy: not ready yet" in page
    assert "adsorb" not in page
    assert (tmp_path / "new" / "ads" / "overlay.svg").exists()


def test_an_event_about_nothing_is_left_out(kubectl: FakeKubectl, tmp_path: Path) -> None:
    events = kubectl.answers["/api/v1/namespaces/staging/events"]["items"]
    events += [{"message": "a"}, {"involvedObject": {}}, {"involvedObject": {"kind": "Pod"}}]
    run(kubectl, "report", "ads", "-d", str(tmp_path))
    page = (tmp_path / "report.md").read_text()
    assert page.partition("## Events")[2].count("\n- ") == 1


def test_logs_are_merged_by_time(kubectl: FakeKubectl) -> None:
    kubectl.log = (
        "[pod/ads-0/node] 2026-01-01T00:00:01.12Z second\n"
        "[pod/ads-0/node] 2026-01-01T00:00:02Z fourth\n"
        "[pod/ads-1/node] 2026-01-01T00:00:01Z first\n"
        "[pod/ads-1/node] 2026-01-01T00:00:01.123Z third\n"
    )
    _, text = run(kubectl, "logs", "ads")
    assert [line.split()[1:] for line in text.splitlines()] == [
        ["ads-1", "first"],
        ["ads-0", "second"],
        ["ads-1", "third"],
        ["ads-0", "fourth"],
    ]
    _, text = run(kubectl, "logs", "ads", "--node", "ads-1", "-f")
    assert [line.split()[2] for line in text.splitlines()] == ["first", "third"]
    assert "--follow" in kubectl.commands[-1]


def test_a_line_of_a_log_has_one_time(kubectl: FakeKubectl) -> None:
    kubectl.log = (
        "[pod/ads-0/node] 2026-01-01T00:00:01.2Z "
        "time=2026-01-01T00:00:01.123456Z level=notice node=ads-0 event=joined\n"
        "[pod/ads-0/node] 2026-01-01T00:00:02Z time=later is no time\n"
    )
    for follow in ((), ("-f",)):
        _, text = run(kubectl, "logs", "ads", *follow)
        first, second = text.splitlines()
        assert first.split() == [
            "2026-01-01T00:00:01.123456Z",
            *("ads-0", "level=notice", "node=ads-0", "event=joined"),
        ]
        assert second.split() == ["2026-01-01T00:00:02Z", "ads-0", "time=later", "is", "no", "time"]


def test_logs_of_a_cluster_that_does_not_start_lead_to_its_status(kubectl: FakeKubectl) -> None:
    with pytest.raises(CommandError, match="see kubectl partisan -n staging status ads"):
        run(kubectl, "logs", "ads")
    assert run(kubectl, "logs", "ads", "--since", "1s") == (0, "")
    assert run(kubectl, "logs", "ads", "--tail", "0") == (0, "")


def test_logs_of_an_unknown_node_list_the_known_ones(kubectl: FakeKubectl) -> None:
    with pytest.raises(CommandError, match="no node 'ads-4': its nodes are ads-0 to ads-3"):
        run(kubectl, "logs", "ads", "--node", "ads-4")


def test_a_node_is_described_by_kubernetes_and_by_itself(kubectl: FakeKubectl) -> None:
    _, text = run(kubectl, "describe", "node", "ads-2")
    for part in ("ads-2 of ads", "machine-1", "Restarts  1", "0.1.0 on OTP 25", "ads-1 ads-3"):
        assert part in text
    assert "Passive   ads-9" in text
    assert "default    10  2.0 kB" in text


def test_a_line_of_a_log_is_whole_whatever_it_holds(kubectl: FakeKubectl) -> None:
    kubectl.log = "[pod/ads-1/node] 2026-01-01T00:00:00Z one\x0c\u2028\x85line\r\n"
    assert run(kubectl, "logs", "ads")[1].endswith(" one\x0c\u2028\x85line\n")


def test_what_a_node_reports_does_not_steer_the_terminal(kubectl: FakeKubectl) -> None:
    kubectl.reports["ads-2"]["version"] = "1.0\x1b]0;title\x07\x9b2J"
    _, text = run(kubectl, "describe", "node", "ads-2")
    assert "1.0\ufffd]0;title\ufffd\ufffd2J on OTP" in text
    kubectl.log = "[pod/ads-1/node] 2026-01-01T00:00:00Z \x1b[32mgreen\x1b[0m\n"
    _, text = run(kubectl, "logs", "ads")
    assert "\x1b[32mgreen\x1b[0m" in text


@pytest.mark.parametrize("seconds", [float("inf"), float("nan"), -1.0])
def test_figures_that_cannot_be_are_an_invalid_report(kubectl: FakeKubectl, seconds: float) -> None:
    kubectl.reports["ads-2"]["uptime_seconds"] = seconds
    _, text = run(kubectl, "describe", "node", "ads-2")
    assert "The node does not answer: its report is not valid" in text
    assert "machine-1" in text


def test_a_figure_beyond_all_bounds_is_bounded(kubectl: FakeKubectl) -> None:
    kubectl.reports["ads-2"]["memory_bytes"] = 10**400
    _, text = run(kubectl, "describe", "node", "ads-2")
    assert "GB of the Erlang VM" in text


def test_a_node_that_does_not_answer_is_described_by_kubernetes(kubectl: FakeKubectl) -> None:
    del kubectl.reports["ads-2"]
    _, text = run(kubectl, "describe", "node", "ads-2")
    assert "machine-1" in text
    assert "The node does not answer: no route" in text
    with pytest.raises(CommandError, match="there is no node 'web-1'"):
        run(kubectl, "describe", "node", "web-1")
