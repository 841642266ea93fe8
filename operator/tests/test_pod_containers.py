"""Sidecars and init containers that users add to the pods."""

from typing import Any

from partisan_operator.children import pod_containers, restricted
from partisan_operator.children.pod_containers import RESTRICTED
from partisan_operator.models.pods import Pods
from world import manifest

PREPARE: dict[str, Any] = {
    "name": "prepare",
    "image": "tools:1",
    "command": ["sh", "-c", "cp /seed/* /srv"],
    "volumeMounts": [{"name": "data", "mountPath": "/srv"}],
}
PROXY: dict[str, Any] = {
    "name": "proxy",
    "image": "proxy:2",
    "imagePullPolicy": "Always",
    "args": ["--port", "9000"],
    "env": [
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "app", "key": "key"}}},
    ],
    "envFrom": [{"configMapRef": {"name": "app", "optional": True}, "prefix": "APP_"}],
    "resources": {"requests": {"cpu": "20m"}, "limits": {"memory": "64Mi"}},
    "startupProbe": {"tcpSocket": {"port": 9000}, "periodSeconds": 1, "failureThreshold": 60},
    "readinessProbe": {"httpGet": {"path": "/ready", "port": 9000}},
    "livenessProbe": {"exec": {"command": ["check"]}, "timeoutSeconds": 5},
    "securityContext": {
        "runAsUser": 101,
        "readOnlyRootFilesystem": False,
        "capabilities": {"add": ["NET_BIND_SERVICE"]},
    },
}
VOLUMES = [{"name": "data", "emptyDir": {}}]


def spec(**pods: Any) -> dict[str, Any]:
    found: dict[str, Any] = manifest("StatefulSet", pods=pods)["spec"]["template"]["spec"]
    return found


def test_init_containers_run_before_sidecars_and_the_node_is_the_only_main_container() -> None:
    found = spec(initContainers=[PREPARE], sidecars=[PROXY], volumes=VOLUMES)
    assert [(entry["name"], entry.get("restartPolicy")) for entry in found["initContainers"]] == [
        ("prepare", None),
        ("proxy", "Always"),
    ]
    assert [entry["name"] for entry in found["containers"]] == ["node"]
    assert "initContainers" not in spec()


def test_containers_are_passed_on_within_the_restricted_profile() -> None:
    found = spec(initContainers=[PREPARE], sidecars=[PROXY], volumes=VOLUMES)
    prepare, proxy = found["initContainers"]
    assert prepare == PREPARE | {"securityContext": RESTRICTED}
    assert proxy == PROXY | {
        "restartPolicy": "Always",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": False,
            "capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
            "runAsUser": 101,
        },
    }
    assert restricted.violations(found) == ()


def test_other_containers_mount_none_of_the_operators_volumes() -> None:
    found = spec(sidecars=[PROXY])
    assert "volumeMounts" not in found["initContainers"][0]


def test_the_template_has_all_that_made_it() -> None:
    """So that an undo can restore it."""
    own = {"initContainers": [PREPARE], "sidecars": [PROXY]}
    restored = Pods.model_validate(pod_containers.from_template(spec(**own)))
    capabilities = {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}
    security = PROXY["securityContext"] | {"capabilities": capabilities}
    assert restored == Pods.model_validate(
        own | {"sidecars": [PROXY | {"securityContext": security}]}
    )
    assert restored.init_containers[0].security_context.to_wire() == {}
    assert not any(pod_containers.from_template(spec()).values())
