"""Additions of applications to their pods: specs that are refused, and unusual ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Spec = dict[str, Any]
Row = tuple[Spec, str]
"""A spec, and the field that its refusal names."""


def pods(**fields: Any) -> Spec:
    return {"pods": fields}


def volume(**fields: Any) -> Spec:
    return pods(volumes=[{"name": "data", **fields}])


def mounted(path: str, **fields: Any) -> Spec:
    mount = {"name": "data", "mountPath": path, **fields}
    return pods(volumes=[{"name": "data", "emptyDir": {}}], volumeMounts=[mount])


def files(path: str, **fields: Any) -> Spec:
    return pods(configFiles=[{"configMap": "app", "mountPath": path, **fields}])


def rows(specs: Iterable[Spec], field: str) -> list[Row]:
    return [(spec, field) for spec in specs]


NOT_PERMITTED = (
    "hostPath",
    "nfs",
    "iscsi",
    "rbd",
    "cephfs",
    "fc",
    "flexVolume",
    "gitRepo",
    "awsElasticBlockStore",
    "local",
    "image",
)
"""Kinds of volumes that the Pod Security Standard `restricted` does not list."""

BAD_PATHS = ("", "data", "/", "/a/", "//a", "/a/../b", "/a/.", "/..", "/a:b", "/a b", "/ä", "/a\n")

RUNTIME_PATHS = (
    "/etc",
    "/etc/partisan",
    "/etc/partisan/config",
    "/etc/partisan/own",
    "/opt",
    "/opt/partisan/lib",
    "/var",
    "/var/lib/partisan/console",
    "/dev",
    "/proc",
    "/proc/sys",
    "/sys/fs",
    "/dev/termination-log",
)

VOLUMES: list[Row] = [
    *((volume(**{kind: {"path": "/"}}), f"spec.pods.volumes[0].{kind}") for kind in NOT_PERMITTED),
    *rows([volume(), volume(emptyDir={}, secret={"secretName": "a"})], "spec.pods.volumes[0]"),
    *(
        (pods(volumes=[{"name": name, "emptyDir": {}}]), "spec.pods.volumes[0].name")
        for name in (
            *("", "A", "a.b", "-a", "a-", "a" * 64),
            *("config", "secret", "state", "bearer", "tls", "partisan-files-1"),
        )
    ),
    (pods(volumes=[{"name": "a", "emptyDir": {}}] * 2), "spec.pods.volumes"),
    (pods(volumes=[{"name": f"v{n}", "emptyDir": {}} for n in range(17)]), "spec.pods.volumes"),
    (volume(emptyDir={"medium": "HugePages"}), "emptyDir.medium"),
    (volume(emptyDir={"sizeLimit": "much"}), "emptyDir.sizeLimit"),
    (volume(configMap={}), "configMap.name"),
    (volume(configMap={"name": "A"}), "configMap.name"),
    (volume(secret={"name": "a"}), "secret.secretName"),
    (volume(secret={"secretName": "a", "defaultMode": 0o1000}), "secret.defaultMode"),
    *(
        (volume(configMap={"name": "a", "items": [{"key": "k", "path": path}]}), "items[0].path")
        for path in ("", "/a", "../a", "a/..", "a//b", "a/")
    ),
    (volume(configMap={"name": "a", "items": [{"key": "a/b", "path": "a"}]}), "items[0].key"),
    (volume(persistentVolumeClaim={}), "persistentVolumeClaim.claimName"),
    (volume(csi={}), "csi.driver"),
    (volume(projected={"sources": []}), "projected.sources"),
    (volume(projected={"sources": [{}]}), "projected.sources[0]"),
    (
        volume(projected={"sources": [{"secret": {"name": "a"}, "configMap": {"name": "a"}}]}),
        "projected.sources[0]",
    ),
    (
        volume(
            projected={"sources": [{"serviceAccountToken": {"path": "a", "expirationSeconds": 60}}]}
        ),
        "serviceAccountToken.expirationSeconds",
    ),
    (volume(ephemeral={}), "ephemeral.volumeClaimTemplate"),
    (
        volume(
            ephemeral={
                "volumeClaimTemplate": {
                    "spec": {"accessModes": [], "resources": {"requests": {"storage": "1Gi"}}}
                }
            }
        ),
        "accessModes",
    ),
    (
        volume(
            ephemeral={
                "volumeClaimTemplate": {
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {}}}
                }
            }
        ),
        "requests.storage",
    ),
    *((mounted(path), "spec.pods.volumeMounts[0].mountPath") for path in BAD_PATHS),
    *((mounted(path), "spec.pods.volumeMounts[0].mountPath") for path in RUNTIME_PATHS),
    (mounted("/a", subPath="../b"), "spec.pods.volumeMounts[0].subPath"),
    (mounted("/a", mountPropagation="Bidirectional"), "spec.pods.volumeMounts[0].mountPropagation"),
    (mounted("/a", name="other"), "spec.pods.volumeMounts"),
    (pods(volumeMounts=[{"name": "secret", "mountPath": "/a"}]), "spec.pods.volumeMounts"),
    (pods(volumeMounts=[{"name": "data", "mountPath": "/a"}]), "spec.pods.volumeMounts"),
    *(
        (files(path), "spec.pods.configFiles[0].mountPath")
        for path in (*BAD_PATHS, "/etc/partisan")
    ),
    (pods(configFiles=[{"mountPath": "/a"}]), "spec.pods.configFiles[0].configMap"),
    (pods(configFiles=[{"configMap": "A", "mountPath": "/a"}]), "configFiles[0].configMap"),
    (pods(configFiles=[{"configMap": "a", "mountPath": "/a"}] * 2), "spec.pods.configFiles"),
    ({"pods": {**mounted("/a")["pods"], **files("/a")["pods"]}}, "spec.pods.configFiles"),
]

APPLICATIONS: list[Row] = [*VOLUMES]
"""Specs that are refused, and the field that the refusal names."""

UNUSUAL_APPLICATIONS: list[Spec] = [
    pods(volumes=[]),
    volume(emptyDir={"medium": "Memory", "sizeLimit": "1.5Gi"}),
    volume(configMap={"name": "a.b", "items": [{"key": ".k", "path": "a/.b"}]}),
    volume(secret={"secretName": "a", "defaultMode": 0o400, "optional": True}),
    volume(persistentVolumeClaim={"claimName": "a", "readOnly": True}),
    volume(csi={"driver": "a.example.org", "readOnly": True, "volumeAttributes": {"a": "b"}}),
    volume(
        downwardAPI={"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}
    ),
    volume(
        projected={
            "sources": [
                {"serviceAccountToken": {"path": "token", "audience": "vault"}},
                {"configMap": {"name": "a", "items": [{"key": "b", "path": "c"}]}},
                {"secret": {"name": "a", "optional": True}},
                {
                    "downwardAPI": {
                        "items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]
                    }
                },
            ]
        }
    ),
    volume(
        ephemeral={
            "volumeClaimTemplate": {
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                }
            }
        }
    ),
    mounted("/tmp"),
    mounted("/dev/shm"),
    mounted("/etc/app", subPath="a/b", readOnly=True),
    mounted("/etc/partisans"),
    {"pods": {**mounted("/srv/a")["pods"], **files("/srv/b", optional=True)["pods"]}},
]
"""Specs that are rare and must be accepted."""
