"""The plugin of kubectl on a real cluster of four nodes: its output and its actions."""

import os
import re
import shlex
import tarfile
from base64 import b64decode
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import core
from scale_tests.cluster.operator import tool
from scale_tests.cluster.subject import Subject, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject, Plugin
from scale_tests.e2e.reader import blocks, install_plugin
from scale_tests.host.commands import ROOT, CommandError, capture

NODES = 4
NAMES = {f"ads-{ordinal}" for ordinal in range(NODES)}


@pytest.fixture(scope="module")
def ads(new_subject: NewSubject) -> Subject:
    """Four nodes that have counted to the end: no figure moves any more."""
    subject = new_subject("ads").apply(manifest("ads", NODES))
    subject.wait_finished()
    subject.wait_healthy(NODES)
    subject.wait_events("RunConverged")
    return subject


@pytest.fixture(scope="module")
def partisan(
    environment: Environment, namespace: str, tmp_path_factory: pytest.TempPathFactory
) -> Plugin:
    """`kubectl partisan`, found by kubectl on its PATH as a user's."""
    programs = tmp_path_factory.mktemp("programs")
    (programs / "kubectl").symlink_to(tool("kubectl"))
    install_plugin(programs)
    variables = {
        **environment.variables,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "operator" / "src"),
    }
    kubectl = str(programs / "kubectl")
    return lambda *words, stdin=None: capture(
        [kubectl, "partisan", *words, "-n", namespace], env=variables, stdin=stdin
    )


def error(partisan: Plugin, *words: str) -> tuple[int, str]:
    """Runs a command that must fail; returns its exit status and output."""
    with pytest.raises(CommandError) as caught:
        partisan(*words)
    return caught.value.status, caught.value.output


def test_plan_needs_only_the_installation_of_the_page(tmp_path: Path) -> None:
    """In a home of its own, with no other way to the simulator."""
    (install,) = blocks(ROOT / "docs" / "guides" / "kubectl-plugin.md", "Install from a checkout")
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "kubectl").symlink_to(tool("kubectl"))
    home = {"HOME": str(tmp_path), "PATH": f"{programs}:/usr/local/bin:/usr/bin:/bin"}
    plan = "kubectl partisan plan -f examples/cluster.yaml --budget 5 -o json"
    script = f"cd {shlex.quote(str(ROOT))}\n{install.commands}\n{plan}"
    written = capture(["bash", "-euo", "pipefail", "-c", script], env=home)
    assert '"cluster": "ads"' in written


def test_status_without_a_name_lists_the_cluster(ads: Subject, partisan: Plugin) -> None:
    rows = [line.split()[:3] for line in partisan("status").splitlines()]
    assert ["ads", "Converged", f"{NODES}/{NODES}"] in rows


def test_status_of_a_finished_run_has_nothing_wrong(ads: Subject, partisan: Plugin) -> None:
    text = partisan("status", "ads")
    assert f"{NODES} wanted, {NODES} exist, {NODES} ready, {NODES} joined" in text
    assert f"Finished: {ads.status().workload.value:,} of {NODES * 20} impressions" in text
    assert "Nothing is wrong." in text
    assert "report ads" in text


def test_status_of_a_broken_cluster_names_the_remedy(
    new_subject: NewSubject, partisan: Plugin
) -> None:
    image = "registry.invalid/nobody/nothing:1"
    subject = new_subject("broken").apply(manifest("broken", 1, workload=None, image=image))
    subject.wait_degraded("ImagePullFailed")
    status, text = error(partisan, "status", "broken")
    assert status == 3
    assert "ImagePullFailed" in text
    assert "describe node broken-0" in text
    subject.delete()


def test_the_graph_has_the_links_that_the_nodes_report(
    ads: Subject, partisan: Plugin, tmp_path: Path
) -> None:
    def drawn() -> set[frozenset[str]]:
        dot = partisan("graph", "ads", "-o", "dot")
        return {frozenset(pair) for pair in re.findall(r'"(\S+)" -- "(\S+)"', dot)}

    def reported() -> set[frozenset[str]]:
        return {frozenset((node.name, peer)) for node in ads.nodes() for peer in node.active}

    found, links = wait_for(
        "a graph of the links", lambda: (drawn(), reported()), lambda both: both[0] == both[1]
    )
    assert frozenset[str]().union(*links) == NAMES
    wait_for(
        "their number",
        lambda: partisan("graph", "ads"),
        lambda text: f"{NODES} nodes, {len(found)} links, 1 component" in text,
    )
    partisan("graph", "ads", "-o", "svg", "-f", str(tmp_path / "ads.svg"))
    names = {element.text for element in ElementTree.parse(tmp_path / "ads.svg").iter()}
    assert names >= NAMES


def test_top_shows_every_channel(ads: Subject, partisan: Plugin) -> None:
    rows = [line.split() for line in partisan("top", ads.name, "--count", "1").splitlines()]
    assert {row[0] for row in rows[2:] if row} == {"overlay", "default", "gossip"}


def test_logs_are_of_all_nodes_and_by_time(ads: Subject, partisan: Plugin) -> None:
    lines = [line.split(maxsplit=2) for line in partisan("logs", ads.name).splitlines()]
    assert {node for _, node, _ in lines} == NAMES
    times = [time for time, _, _ in lines]
    assert times == sorted(times)
    one = partisan("logs", ads.name, "--node", "ads-2", "--tail", "1").splitlines()
    assert [line.split()[1] for line in one] == ["ads-2"]


def test_a_node_is_described(ads: Subject, partisan: Plugin) -> None:
    text = partisan("describe", "node", "ads-3")
    assert f"ads-3 of {ads.name}" in text
    assert "hyparview, joined" in text
    assert "Scheduled" in text


def test_a_report_is_written(ads: Subject, partisan: Plugin, tmp_path: Path) -> None:
    partisan("report", ads.name, "-d", str(tmp_path))
    page = (tmp_path / "report.md").read_text()
    assert f"{ads.status().workload.value} (threshold {NODES * 20})" in page
    assert (tmp_path / "overlay.svg").exists()


def test_the_archive_has_every_node_and_no_token(
    ads: Subject, partisan: Plugin, tmp_path: Path
) -> None:
    def gathered() -> dict[str, str]:
        partisan("must-gather", ads.name, "-f", str(tmp_path / "ads.tar.gz"))
        with tarfile.open(tmp_path / "ads.tar.gz") as tar:
            return {
                member.name.partition("/")[2]: file.read().decode()
                for member in tar
                if (file := tar.extractfile(member))
            }

    files = wait_for(
        "an archive without errors",
        gathered,
        lambda found: "errors.txt" not in found,
        progress=lambda found: found.get("errors.txt"),
    )
    for node in NAMES:
        assert "event=joined" in files[f"nodes/{node}.log"]
        assert "partisan_overlay_joined 1" in files[f"nodes/{node}.metrics.txt"]
    assert "PartisanCluster/ads RunConverged" in files["events.txt"]
    assert any(name.startswith("operator/") and name.endswith(".log") for name in files)
    secrets = core(ads.namespace, "secrets")
    for key in ("token", "bearer"):
        assert_absent(ads.cluster.get(f"{secrets}/ads-{key}")["data"][key], files)


def assert_absent(stored: str, files: dict[str, str]) -> None:
    """No file holds a secret, in clear or as a Secret stores it."""
    for content in files.values():
        assert stored not in content
        assert b64decode(stored).decode() not in content


def test_a_change_that_the_api_server_refuses_changes_nothing(
    ads: Subject, partisan: Plugin
) -> None:
    before = ads.json()["metadata"]["generation"]
    status, text = error(partisan, "overlay", "set", "ads", "HyParView", "activeMin=60")
    assert status == 1
    assert "spec.overlay.hyParView.activeMin" in text
    assert "lower activeMin or raise activeMax" in text
    assert "Nothing was changed" in partisan("overlay", "set", "ads", "Cyclon", "--dry-run")
    assert ads.json()["metadata"]["generation"] == before


def test_a_paused_cluster_is_resumed(ads: Subject, partisan: Plugin) -> None:
    partisan("pause", ads.name)
    ads.wait("paused", lambda status: status.is_true("Paused") and status.current)
    assert "resume ads" in partisan("status", ads.name)
    partisan("resume", ads.name)
    ads.wait("resumed", lambda status: not status.is_true("Paused") and status.current)


def test_another_overlay_is_followed_until_it_is_in_force(ads: Subject, partisan: Plugin) -> None:
    pods = ads.uids()
    partisan("overlay", "set", ads.name, "cyclon", "viewSize=8")
    text = partisan("rollout", "status", ads.name)
    assert text.splitlines()[-1].startswith("Settled")
    assert (ads.status().overlay, ads.status().previous_kind) == ("Cyclon", "")
    assert ads.json()["spec"]["overlay"]["cyclon"]["viewSize"] == 8
    assert ads.uids() == pods


def test_a_misspelt_name_is_answered_with_the_right_one(ads: Subject, partisan: Plugin) -> None:
    status, text = error(partisan, "status", "adz")
    assert (status, text.count("\n")) == (1, 0)
    assert f"did you mean {ads.name}?" in text
