"""`spec.restore`: from the spec to the pods, and what the status makes of the counts."""

from typing import Any

import pytest

from partisan_operator.children import pod_volumes, restored_backup
from partisan_operator.children.restricted import violations
from partisan_operator.models.pods import Pods
from partisan_operator.status import run
from partisan_operator.status.departed import DepartedActors
from partisan_operator.status.run import Ledger
from test_workload import RUN, finished, reports
from world import manifest

WORKLOAD = {"adCounter": {"impressions": 80}}
MOUNT = {"name": "partisan-restore", "mountPath": "/etc/partisan/restore", "readOnly": True}


def pod(**spec: Any) -> dict[str, Any]:
    """Return the spec of the pods."""
    found: dict[str, Any] = manifest("StatefulSet", workload=WORKLOAD, **spec)["spec"]["template"]
    return found


@pytest.mark.parametrize("restore", [{"configMap": "ads-backup"}, {"secret": "ads-backup"}])
def test_pods_mount_the_backup_and_none_starts_without_it(restore: dict[str, str]) -> None:
    found = pod(restore=restore)["spec"]
    (volume,) = (entry for entry in found["volumes"] if entry["name"] == "partisan-restore")
    ((_, source),) = ((kind, value) for kind, value in volume.items() if kind != "name")
    assert source["items"] == [{"key": "backup", "path": "backup"}]
    assert "optional" not in source
    assert MOUNT in found["containers"][0]["volumeMounts"]
    assert not violations(found)


@pytest.mark.parametrize("restore", [None, {"configMap": "a"}, {"secret": "b"}])
def test_the_field_is_read_back_from_a_template(restore: dict[str, str] | None) -> None:
    found = pod(**({} if restore is None else {"restore": restore}))["spec"]
    assert restored_backup.from_template(found["volumes"]) == restore
    # Neither its volume nor its mount is the user's.
    assert not any(pod_volumes.from_template(found, found["containers"][0]).values())
    assert pod_volumes.volumes(Pods()) == []


def test_pods_of_other_clusters_stay_as_they_are() -> None:
    found = pod()["spec"]
    assert all(entry["name"] != "partisan-restore" for entry in found["volumes"])


def test_counts_of_nodes_that_only_the_backup_has_are_accounted_for() -> None:
    """A smaller cluster finishes with the counts of a larger one, and none is missing."""
    seen = {"ads-0/1": 3, "ads-9/1": 4, "other-1/1": 5}
    observed = reports(finished("ads-0", 2, 9, actor="2", superseded=seen))
    arguments = (Ledger(), DepartedActors(), RUN, ("ads-0",), observed)
    _, without = run.advance(*arguments)
    assert without.counted == 3
    ledger, gone = run.advance(*arguments, restored=("ads-0", "ads-9"))
    assert (gone.increments, gone.counted, gone.lost) == (7, 7, 0)
    assert sum(made for _, made in ledger.actors.values()) + gone.increments == 9


def test_a_report_with_the_actors_of_many_restores_is_read() -> None:
    many = {f"ads-0/{number}": 1 for number in range(5000)}
    part = finished("ads-0", 2, 9, superseded=many).workload
    assert part is not None
    assert (part.increments, len(part.superseded)) == (2, 4096)
