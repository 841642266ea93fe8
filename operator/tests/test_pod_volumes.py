"""Volumes and files that users add to the pods."""

from typing import Any

from partisan_operator.children import pod_volumes
from partisan_operator.models.pods import Pods
from partisan_operator.models.volumes import OWN_VOLUMES
from world import manifest

VOLUMES: list[dict[str, Any]] = [
    {"name": "scratch", "emptyDir": {}},
    {"name": "memory", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}},
    {"name": "settings", "configMap": {"name": "app", "items": [{"key": "a", "path": "b/a"}]}},
    {"name": "keys", "secret": {"secretName": "app", "defaultMode": 0o400, "optional": True}},
    {"name": "data", "persistentVolumeClaim": {"claimName": "shared", "readOnly": True}},
    {"name": "vault", "csi": {"driver": "vault.example.org", "volumeAttributes": {"role": "app"}}},
    {
        "name": "about",
        "downwardAPI": {
            "items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]
        },
    },
    {
        "name": "disk",
        "ephemeral": {
            "volumeClaimTemplate": {
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": "fast",
                    "resources": {"requests": {"storage": "1Gi"}},
                }
            }
        },
    },
    {
        "name": "identity",
        "projected": {
            "sources": [
                {"serviceAccountToken": {"path": "token", "audience": "vault"}},
                {"configMap": {"name": "ca", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {"secret": {"name": "app"}},
            ]
        },
    },
]
"""One of each kind, as the API server stores it."""

OWN: dict[str, Any] = {
    "volumes": VOLUMES,
    "volumeMounts": [
        {"name": "scratch", "mountPath": "/tmp"},
        {"name": "data", "mountPath": "/srv/data", "subPath": "ads", "readOnly": True},
    ],
    "configFiles": [
        {"configMap": "app", "mountPath": "/etc/app"},
        {
            "configMap": "app",
            "mountPath": "/etc/more",
            "items": [{"key": "a", "path": "a", "mode": 0o400}],
            "optional": True,
        },
    ],
}


def spec(**pods: Any) -> dict[str, Any]:
    found: dict[str, Any] = manifest("StatefulSet", pods=pods)["spec"]["template"]["spec"]
    return found


def test_volumes_of_every_kind_are_passed_on_after_the_operators() -> None:
    names = [volume["name"] for volume in spec()["volumes"]]
    found = spec(volumes=VOLUMES)["volumes"]
    assert [volume["name"] for volume in found[: len(names)]] == names
    assert found[len(names) :] == VOLUMES


def test_only_the_nodes_mounts_are_in_its_container() -> None:
    before = spec()["containers"][0]["volumeMounts"]
    after = spec(volumes=VOLUMES, volumeMounts=OWN["volumeMounts"])["containers"][0]["volumeMounts"]
    assert after == before + OWN["volumeMounts"]


def test_config_files_are_a_volume_and_a_mount() -> None:
    found = spec(configFiles=OWN["configFiles"])
    first, second = found["volumes"][-2:]
    assert first["configMap"] == {"name": "app", "defaultMode": 0o444}
    assert second["configMap"] == {
        "name": "app",
        "defaultMode": 0o444,
        "items": [{"key": "a", "path": "a", "mode": 0o400}],
        "optional": True,
    }
    assert first["name"] != second["name"]
    assert found["containers"][0]["volumeMounts"][-2:] == [
        {"name": first["name"], "mountPath": "/etc/app", "readOnly": True},
        {"name": second["name"], "mountPath": "/etc/more", "readOnly": True},
    ]


def test_the_order_of_config_files_does_not_matter_to_their_names() -> None:
    names = [
        {volume["name"] for volume in spec(configFiles=files)["volumes"]} - set(OWN_VOLUMES)
        for files in (OWN["configFiles"], OWN["configFiles"][::-1])
    ]
    assert names[0] == names[1]
    assert len(names[0]) == 2


def test_the_template_has_all_that_made_it() -> None:
    """So that an undo can restore it."""
    found = spec(**OWN)
    restored = pod_volumes.from_template(found, found["containers"][0])
    assert Pods.model_validate(restored) == Pods.model_validate(OWN)
    assert not any(pod_volumes.from_template(spec(), spec()["containers"][0]).values())
