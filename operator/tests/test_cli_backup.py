"""`backup` and `restore` of the plugin."""

import base64
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fake_kubectl import CORE, NAMESPACE, FakeKubectl, run
from partisan_operator.cli.access import CommandError
from partisan_operator.cli.backup_file import Backup, parse
from test_backup_file import BACKUP

PARAMETERS = {
    "ads": "1",
    "impressions": "80",
    "increment_interval": "10000",
    "propagation_interval": "5000",
    "synchronization": "delta",
}


def of_node(**entries: int) -> Backup:
    """Return the backup of one node's replica."""
    return replace(BACKUP, parameters=PARAMETERS, entries=entries)


def changes(kubectl: FakeKubectl) -> list[Any]:
    """Return what was written to the API server."""
    return [*kubectl.created, *kubectl.patches]


@pytest.fixture
def counting(kubectl: FakeKubectl) -> FakeKubectl:
    """Return a kubectl whose nodes count, each with a part of the counts."""
    kubectl.cluster["spec"]["workload"] = {"adCounter": {"ads": 1, "impressions": 80}}
    kubectl.backups = {
        f"ads-{node}": of_node(a=node + 1, **{f"own{node}": 5}).render().decode()
        for node in range(4)
    }
    return kubectl


def test_a_backup_is_the_join_of_all_replicas(counting: FakeKubectl, tmp_path: Path) -> None:
    path = tmp_path / "ads.backup"
    _, text = run(counting, "backup", "ads", "--output", str(path))
    backup = parse(path.read_bytes())
    assert backup.entries == {"a": 4, "own0": 5, "own1": 5, "own2": 5, "own3": 5}
    assert (backup.cluster, backup.namespace, backup.parameters) == ("ads", NAMESPACE, PARAMETERS)
    assert text.startswith(f"{path}: 24 in 5 counts from 4 nodes, ")
    assert f"kubectl partisan -n {NAMESPACE} restore {path} ads" in text


def test_a_backup_goes_to_the_output_too(counting: FakeKubectl) -> None:
    _, text = run(counting, "backup", "ads", "-o", "-")
    assert parse(text.encode()).total == 24


def test_a_backup_without_all_nodes_is_made_on_request_alone(
    counting: FakeKubectl, tmp_path: Path
) -> None:
    path = tmp_path / "ads.backup"
    del counting.backups["ads-3"]
    missing = r"^1 of 4 nodes gave no backup, ads-3 .* release without backups.*--partial"
    with pytest.raises(CommandError, match=missing):
        run(counting, "backup", "ads", "-o", str(path))
    assert not path.exists()
    _, text = run(counting, "backup", "ads", "-o", str(path), "--partial")
    assert "from 3 nodes, without 1 node, " in text
    assert parse(path.read_bytes()).entries == {"a": 3, "own0": 5, "own1": 5, "own2": 5}


def test_a_backup_of_nothing_is_an_error(counting: FakeKubectl) -> None:
    counting.backups.clear()
    with pytest.raises(CommandError, match=r"^4 of 4 nodes gave no backup"):
        run(counting, "backup", "ads", "--partial")
    counting.pods.clear()
    with pytest.raises(CommandError, match="has no pods"):
        run(counting, "backup", "ads")
    del counting.cluster["spec"]["workload"]
    with pytest.raises(CommandError, match=r"has no spec\.workload"):
        run(counting, "backup", "ads")


def test_replicas_that_do_not_belong_together_are_not_joined(counting: FakeKubectl) -> None:
    good = of_node(a=1)
    for other, words in (
        (replace(good, parameters=PARAMETERS | {"ads": "2"}), "ads-0 and ads-2 run different"),
        (replace(good, cluster="other"), "ads-2 answers for the cluster other"),
    ):
        counting.backups["ads-2"] = other.render().decode()
        with pytest.raises(CommandError, match=words):
            run(counting, "backup", "ads")
    counting.backups["ads-2"] = good.render().decode()[:-9]
    with pytest.raises(CommandError, match="ads-2 for this reason: its answer is truncated"):
        run(counting, "backup", "ads")


def test_a_backup_that_no_object_holds_is_not_written(
    counting: FakeKubectl, tmp_path: Path
) -> None:
    for node in range(4):
        entries = {f"{node}-{number:0200}": 1 for number in range(2000)}
        counting.backups[f"ads-{node}"] = of_node(**entries).render().decode()
    with pytest.raises(CommandError, match=r"^the backup has 1\.6 MB, .*holds 1 MiB"):
        run(counting, "backup", "ads", "-o", str(tmp_path / "ads.backup"))
    assert not list(tmp_path.iterdir())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return the file of a backup."""
    path = tmp_path / "ads.backup"
    path.write_bytes(of_node(a=7).render())
    return path


def test_a_restore_writes_the_backup_and_names_it_in_the_spec(
    counting: FakeKubectl, file: Path
) -> None:
    _, text = run(counting, "restore", str(file), "ads")
    (written,) = counting.created
    name = written["metadata"]["name"]
    assert name.startswith("ads-backup-")
    assert (written["kind"], written["immutable"]) == ("ConfigMap", True)
    # Labels of the cluster would make it a child, which the operator would delete.
    assert written["metadata"] == {"name": name, "namespace": NAMESPACE}
    assert written["data"] == {"backup": file.read_text()}
    assert counting.patches == [{"spec": {"restore": {"configMap": name, "secret": None}}}]
    assert f"ConfigMap {name}: 7 in 1 count, taken {BACKUP.taken}\n" in text
    assert f"kubectl partisan -n {NAMESPACE} rollout status ads" in text


def test_a_restore_into_a_secret(counting: FakeKubectl, file: Path) -> None:
    run(counting, "restore", str(file), "ads", "--secret", "--object", "state")
    (written,) = counting.created
    assert (written["kind"], written["metadata"]["name"]) == ("Secret", "state")
    assert base64.b64decode(written["data"]["backup"]) == file.read_bytes()
    assert counting.patches == [{"spec": {"restore": {"secret": "state", "configMap": None}}}]


def test_a_restore_before_the_cluster_exists_says_what_its_spec_needs(
    counting: FakeKubectl, tmp_path: Path
) -> None:
    path = tmp_path / "gone.backup"
    path.write_bytes(replace(of_node(a=7), cluster="gone").render())
    _, text = run(counting, "restore", str(path), "gone", "--object", "gone-backup")
    assert [entry["metadata"]["name"] for entry in counting.created] == ["gone-backup"]
    assert not counting.patches
    assert text.endswith("spec and apply it:\n  restore: {configMap: gone-backup}\n")


def test_a_dry_run_of_a_restore_changes_nothing(counting: FakeKubectl, file: Path) -> None:
    _, text = run(counting, "restore", str(file), "ads", "--dry-run")
    assert changes(counting) == []
    assert "Nothing was changed" in text


@pytest.mark.parametrize("dry_run", [[], ["--dry-run"]])
@pytest.mark.parametrize(
    ("kinds", "options", "live"),
    [
        ("configmaps", [], {"data": {"level": "debug"}}),
        ("configmaps", [], {"data": {"backup": "another"}}),
        ("configmaps", [], {}),
        ("secrets", ["--secret"], {"data": {"backup": "YQ=="}}),
    ],
)
def test_a_restore_leaves_an_object_of_another_use_alone(
    counting: FakeKubectl,
    file: Path,
    kinds: str,
    options: list[str],
    live: dict[str, Any],
    dry_run: list[str],
) -> None:
    counting.answers[f"{CORE}/{kinds}/settings"] = live
    words = r" settings exists and is not this backup: .* --object.*Nothing was changed"
    with pytest.raises(CommandError, match=words):
        run(counting, "restore", str(file), "ads", "--object", "settings", *options, *dry_run)
    assert changes(counting) == []


def test_a_restore_leaves_an_object_with_more_than_the_backup_alone(
    counting: FakeKubectl, file: Path
) -> None:
    backup = {"backup": file.read_text()}
    for live in ({"data": backup | {"level": "debug"}}, {"data": backup, "binaryData": {"a": ""}}):
        counting.answers[f"{CORE}/configmaps/settings"] = live
        with pytest.raises(CommandError, match="is not this backup"):
            run(counting, "restore", str(file), "ads", "--object", "settings")
    assert changes(counting) == []


@pytest.mark.parametrize("options", [[], ["--secret"]])
def test_a_restore_again_uses_the_object_of_the_first(
    counting: FakeKubectl, file: Path, options: list[str]
) -> None:
    run(counting, "restore", str(file), "ads", *options)
    (written,) = counting.created
    kinds, name = f"{written['kind'].lower()}s", written["metadata"]["name"]
    counting.answers[f"{CORE}/{kinds}/{name}"] = written
    _, text = run(counting, "restore", str(file), "ads", *options)
    assert counting.created == [written]
    assert len(counting.patches) == 2
    assert f"{written['kind']} {name}: 7 in 1 count" in text


def test_a_refused_restore_changes_nothing(counting: FakeKubectl, file: Path) -> None:
    counting.refusal = "Error from server (Forbidden): configmaps is forbidden"
    with pytest.raises(CommandError, match=r"^refused, nothing was changed: configmaps"):
        run(counting, "restore", str(file), "ads")
    assert changes(counting) == []


@pytest.mark.parametrize(
    ("differences", "words"),
    [
        ({"cluster": "other"}, "is of the cluster other, whose nodes have other names"),
        ({"workload": "rumours"}, "is of the workload rumours, and ads runs adcounter"),
        ({"parameters": PARAMETERS | {"ads": "9"}}, r"with ads 9, and spec\.workload has 1: set"),
        ({"parameters": {"colour": "red"}}, r"with colour red, and spec\.workload has none"),
    ],
)
def test_a_foreign_backup_is_refused(
    counting: FakeKubectl, tmp_path: Path, differences: dict[str, Any], words: str
) -> None:
    path = tmp_path / "foreign.backup"
    path.write_bytes(replace(of_node(a=7), **differences).render())
    with pytest.raises(CommandError, match=rf"{words}.*Nothing was changed"):
        run(counting, "restore", str(path), "ads")
    assert changes(counting) == []


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda data: data[:-100], "is truncated: .* Nothing was changed: use another backup"),
        (lambda data: data.replace(b"a 7", b"a 8"), "is corrupt: .* Nothing was changed"),
        (lambda data: data.replace(b"backup 1", b"backup 7"), "has the format 7"),
        (lambda data: data * 10_000, "more than 1 MiB"),
    ],
)
def test_a_damaged_backup_is_refused(
    counting: FakeKubectl, file: Path, damage: Any, words: str
) -> None:
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(CommandError, match=words):
        run(counting, "restore", str(file), "ads")
    assert changes(counting) == []
    assert not counting.commands


def test_a_missing_file_is_an_error(counting: FakeKubectl, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"cannot read .*none: No such file"):
        run(counting, "restore", str(tmp_path / "none"), "ads")
