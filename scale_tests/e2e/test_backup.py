"""A counting cluster is backed up and deleted with all that it kept; another one counts on."""

import re
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
import yaml

from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, Json, core
from scale_tests.cluster.partisan import CLUSTER_LABEL
from scale_tests.cluster.subject import LASTING, Subject, counter, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject, Plugin
from scale_tests.e2e.outcomes import assert_accounted
from scale_tests.e2e.specs import STATE
from scale_tests.host.commands import CommandError

NAME = "kept"
NODES = 3
CLAIMS: Json = {**STATE, "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete"}}

Body = Callable[..., Json]
"""Takes further fields of the spec and returns the manifest of the cluster."""


@pytest.fixture(scope="module")
def body(environment: Environment) -> Body:
    """The cluster, whose state is in claims where there is a StorageClass for certain."""
    pods = CLAIMS if environment.local else {}
    workload = {"adCounter": counter(NODES, LASTING)}
    return lambda **spec: manifest(NAME, NODES, workload=workload, pods=pods, **spec)


@pytest.fixture(scope="module")
def backup(
    new_subject: NewSubject, partisan: Plugin, body: Body, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A backup of the cluster while it counted, which is gone with its pods and claims."""
    subject = new_subject(NAME).apply(body())
    subject.wait_steady()
    subject.wait_counted(NODES * 3)
    path = tmp_path_factory.mktemp("backup") / "kept.backup"
    written = partisan("backup", NAME, "--output", str(path))
    assert f"from {NODES} nodes" in written
    subject.delete()
    claims = core(subject.namespace, "persistentvolumeclaims")
    wait_for(
        "claims deleted",
        lambda: subject.cluster.list(claims, f"{CLUSTER_LABEL}={NAME}"),
        lambda left: not left,
    )
    return path


def counts(path: Path) -> dict[str, int]:
    """The counts in a backup."""
    _, entries = path.read_text().split("\n\n")
    lines = (line.split(" ") for line in entries.splitlines()[:-1])
    return {key: int(count) for key, count in lines}


def sealed(text: str) -> str:
    """The text of a backup with the checksum of what it holds now."""
    content = text[: text.rindex("sha256 ")]
    return f"{content}sha256 {sha256(content.encode()).hexdigest()}\n"


def corrupt(text: str, name: str = NAME) -> str:
    """The backup with another count."""
    return re.sub(r"(\d+)\nsha256", lambda found: f"{int(found[1]) + 1}\nsha256", text)


def truncated(text: str, name: str = NAME) -> str:
    """The backup without its end."""
    return text[: len(text) * 2 // 3]


def foreign(text: str, name: str = NAME) -> str:
    """An intact backup of a cluster of this name, of a run to another threshold."""
    other = re.sub(r"parameter impressions \d+", "parameter impressions 7", text)
    return sealed(other.replace(f"cluster {NAME}\n", f"cluster {name}\n"))


Damage = Callable[..., str]
DAMAGE: dict[Damage, str] = {
    corrupt: "is corrupt: its content does not match its checksum",
    truncated: "is truncated: its last line is no checksum",
    foreign: "is of a run with impressions 7, and spec.workload has",
}


@pytest.fixture(scope="module")
def restored(new_subject: NewSubject, partisan: Plugin, body: Body, backup: Path) -> Subject:
    """Another cluster of that name, as the plugin says to make it."""
    written = partisan("restore", str(backup), NAME)
    (field,) = re.findall(r"^ {2}restore: (.*)$", written, re.MULTILINE)
    return new_subject(NAME).apply(body(restore=yaml.safe_load(field)))


def test_another_cluster_counts_on_exactly(
    restored: Subject, partisan: Plugin, backup: Path, tmp_path: Path
) -> None:
    before = counts(backup)
    total = sum(before.values())
    restored.wait_counted(total + NODES)
    status = restored.end_run()
    assert_accounted(restored, status)
    made = sum(restored.node_json(pod)["workload"]["increments"] for pod in restored.pods())
    assert status.workload.value == total + made
    assert status.workload.lost_increments == 0
    # Each count as it was, and those of new actors.
    path = tmp_path / "again.backup"
    partisan("backup", NAME, "--output", str(path))
    after = counts(path)
    assert after.items() >= before.items()
    assert sum(after.values()) == status.workload.value


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_the_plugin_refuses_a_bad_backup_and_writes_nothing(
    restored: Subject, partisan: Plugin, backup: Path, tmp_path: Path, damage: Damage
) -> None:
    path = tmp_path / "bad.backup"
    path.write_text(damage(backup.read_text()))
    objects = core(restored.namespace, "configmaps")
    before = [item["metadata"]["name"] for item in restored.cluster.list(objects)]
    generation = restored.json()["metadata"]["generation"]
    with pytest.raises(CommandError, match=re.escape(DAMAGE[damage])) as caught:
        partisan("restore", str(path), NAME)
    assert "Nothing was changed" in caught.value.output
    assert [item["metadata"]["name"] for item in restored.cluster.list(objects)] == before
    assert restored.json()["metadata"]["generation"] == generation


def test_nodes_refuse_a_bad_backup_with_the_reason(
    new_subject: NewSubject, cluster: Cluster, namespace: str, backup: Path
) -> None:
    refused = []
    for damage, words in DAMAGE.items():
        name = damage.__name__
        data = {"backup": damage(backup.read_text(), name)}
        cluster.create(core(namespace, "configmaps"), {"metadata": {"name": name}, "data": data})
        subject = new_subject(name).apply(manifest(name, 1, restore={"configMap": name}))
        refused.append((subject, words))
    for subject, words in refused:
        subject.wait_degraded("BackupRefused", words)
    # A node starts without the backup when the spec no longer names it.
    subject.patch(restore=None)
    subject.wait_healthy(1)
