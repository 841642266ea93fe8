"""Volumes of claims: when they are made, where, and when they go."""

from pathlib import Path
from typing import Any

import pytest

from scale_tests.localkube import configs
from scale_tests.localkube.api import Client
from scale_tests.localkube.provisioner import CLAIMS, NAME, VOLUMES, Provisioner

STORAGE_CLASS = "/apis/storage.k8s.io/v1/storageclasses/standard"


class Objects(Client):
    """The claims and volumes of an API server, and how often volumes were read."""

    def __init__(self, *claims: dict[str, Any]) -> None:
        self.claims = list(claims)
        self.volumes: dict[str, dict[str, Any]] = {}
        self.reads = 0

    def get(self, path: str) -> Any:
        self.reads += path == VOLUMES
        return {"items": self.claims if path == CLAIMS else list(self.volumes.values())}

    def apply(self, path: str, document: dict[str, Any]) -> None:
        self.volumes[path] = document | {"status": {"phase": "Bound"}}

    def delete(self, path: str) -> None:
        del self.volumes[path]


def claim(uid: str, provisioner: str = NAME, **spec: Any) -> dict[str, Any]:
    annotations = {"volume.kubernetes.io/storage-provisioner": provisioner}
    return {
        "metadata": {"namespace": "a", "name": "data", "uid": uid, "annotations": annotations},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "standard",
            "resources": {"requests": {"storage": "1Mi"}},
            **spec,
        },
    }


def test_a_claim_gets_a_directory_that_every_user_may_write_to(tmp_path: Path) -> None:
    objects = Objects(claim("1"))
    Provisioner(objects, tmp_path).step()
    (volume,) = objects.volumes.values()
    path = Path(volume["spec"]["local"]["path"])
    assert path.parent == tmp_path
    assert path.stat().st_mode & 0o777 == 0o777
    claimed = volume["spec"]["claimRef"]
    assert (claimed["namespace"], claimed["name"], claimed["uid"]) == ("a", "data", "1")
    assert volume["spec"]["capacity"] == {"storage": "1Mi"}


@pytest.mark.parametrize(
    "other",
    [
        claim("1", provisioner="example.org/other"),
        claim("1", volumeName="bound"),
        {"metadata": {"uid": "1"}, "spec": {}},
    ],
)
def test_other_claims_get_none(tmp_path: Path, other: dict[str, Any]) -> None:
    objects = Objects(other)
    Provisioner(objects, tmp_path).step()
    assert objects.volumes == {}


def test_a_volume_goes_with_its_claim_and_no_other_does(tmp_path: Path) -> None:
    objects = Objects(claim("1"), claim("2"))
    provisioner = Provisioner(objects, tmp_path)
    provisioner.step()
    gone, kept = objects.volumes.values()
    file = Path(gone["spec"]["local"]["path"]) / "file"
    file.touch()
    objects.claims.clear()
    gone["status"]["phase"] = "Released"
    provisioner.step()
    assert list(objects.volumes.values()) == [kept]
    assert [str(path) for path in tmp_path.iterdir()] == [kept["spec"]["local"]["path"]]


def test_volumes_are_read_only_while_there_are_any(tmp_path: Path) -> None:
    objects = Objects()
    provisioner = Provisioner(objects, tmp_path)
    for _ in range(3):
        provisioner.step()
    assert objects.reads == 1
    objects.claims.append(claim("1"))
    for _ in range(3):
        provisioner.step()
    assert objects.reads == 4


def test_the_default_storage_class_is_its_own() -> None:
    storage_class = configs.table("addons.toml")[STORAGE_CLASS]
    assert storage_class["provisioner"] == NAME
    annotations = storage_class["metadata"]["annotations"]
    assert annotations == {"storageclass.kubernetes.io/is-default-class": "true"}
