"""`spec.pods.override`: what it adds to the pods, and what it may not change."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_rig import CLUSTER, NAMESPACE, SET, Rig
from partisan_operator.api.errors import KubeError
from partisan_operator.children import override, override_check, restricted
from partisan_operator.children.pod import own_spec
from partisan_operator.decide.reconcile import desired, plan
from partisan_operator.models.problem import Reason
from world import INSTALLATION, World, cluster, manifest

NODE = "containers[node]"


def pod(patch: dict[str, Any], **pods: Any) -> dict[str, Any]:
    """Return the spec of the pods with a patch."""
    found: dict[str, Any] = manifest("StatefulSet", pods={**pods, "override": {"spec": patch}})
    spec: dict[str, Any] = found["spec"]["template"]["spec"]
    return spec


def refusals(patch: Any, **pods: Any) -> tuple[str, ...]:
    given = cluster({"pods": {**pods, "override": {"spec": patch}}})
    return override_check.refusals(given.spec.pods, own_spec(given, "node:1", bearer=True))


def node(**fields: Any) -> dict[str, Any]:
    """Return a patch of the node's container."""
    return {"containers": [{"name": "node", **fields}]}


def test_fields_are_added_to_the_pod_and_to_the_nodes_container() -> None:
    before = manifest("StatefulSet")["spec"]["template"]["spec"]
    hook = {"preStop": {"sleep": {"seconds": 1}}}
    after = pod({"schedulerName": "mine", **node(lifecycle=hook)})
    assert after["schedulerName"] == "mine"
    assert after["containers"] == [before["containers"][0] | {"lifecycle": hook}]
    rest = {key: value for key, value in after.items() if key not in ("schedulerName",)}
    assert rest | {"containers": before["containers"]} == before


def test_lists_merge_by_name_and_others_are_replaced() -> None:
    volume = {"name": "cache", "emptyDir": {}}
    mount = {"name": "cache", "mountPath": "/cache"}
    sidecar = {"name": "proxy", "image": "proxy:1"}
    patch = {
        "volumes": [{"name": "more", "emptyDir": {}}],
        "initContainers": [{"name": "proxy", "tty": True}],
        **node(volumeMounts=[{"mountPath": "/more", "name": "more"}]),
    }
    found = pod(patch, volumes=[volume], volumeMounts=[mount], sidecars=[sidecar])
    assert [each["name"] for each in found["volumes"][-2:]] == ["cache", "more"]
    assert [each["name"] for each in found["containers"][0]["volumeMounts"][-2:]] == [
        "cache",
        "more",
    ]
    (proxy,) = found["initContainers"]
    assert (proxy["image"], proxy["tty"]) == ("proxy:1", True)
    context = {"supplementalGroups": [1]}
    assert override.merged({"securityContext": context}, {"securityContext": {"x": 1}}) == {
        "securityContext": {**context, "x": 1}
    }
    assert override.merged([1, 2], [3]) == [3]


def test_an_added_field_changes_the_template_and_none_leaves_it() -> None:
    def annotations(**pods: Any) -> dict[str, str]:
        template = manifest("StatefulSet", pods=pods)["spec"]["template"]
        found: dict[str, str] = template["metadata"]["annotations"]
        return found

    assert override.ANNOTATION not in annotations()
    marks = {
        annotations(override={"spec": patch})[override.ANNOTATION]
        for patch in ({"schedulerName": "a"}, {"schedulerName": "b"})
    }
    assert len(marks) == 2


HARMLESS: list[dict[str, Any]] = [
    {},
    {"schedulerName": "mine", "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}]},
    {"securityContext": {"supplementalGroups": [7], "runAsUser": 1000}},
    {"enableServiceLinks": True, "automountServiceAccountToken": False},
    {"volumes": [{"name": "state", "emptyDir": {"medium": "Memory", "sizeLimit": "16Mi"}}]},
    node(lifecycle={"postStart": {"exec": {"command": ["true"]}}}, tty=True),
    {"shareProcessNamespace": False},
    node(volumeMounts=[{"name": "state", "mountPath": "/var/lib/partisan"}]),
    node(env=[{"name": "COLOUR", "value": "blue"}]),
    node(readinessProbe={"successThreshold": 1}),
    node(resources={"claims": [{"name": "gpu"}]}),
]


@pytest.mark.parametrize("patch", HARMLESS, ids=str)
def test_additions_are_accepted(patch: dict[str, Any]) -> None:
    assert refusals(patch) == ()
    assert restricted.violations(pod(patch)) == ()


PORTS = [{"containerPort": 9000}]


@pytest.mark.parametrize(
    ("patch", "named"),
    [
        ({"automountServiceAccountToken": True}, "automountServiceAccountToken cannot change"),
        ({"terminationGracePeriodSeconds": 1}, "terminationGracePeriodSeconds cannot change"),
        ({"serviceAccountName": "a"}, "serviceAccountName cannot be set: use spec.pods.service"),
        ({"serviceAccount": "a"}, "serviceAccount cannot be set: use spec.pods.serviceAccountName"),
        ({"topologySpreadConstraints": []}, "topologySpreadConstraints cannot change"),
        (node(image="other:1"), f"{NODE}.image cannot change"),
        (node(ports=PORTS), f"{NODE}.ports cannot change"),
        (node(readinessProbe={"httpGet": {"path": "/"}}), "readinessProbe.httpGet.path"),
        (node(livenessProbe=None), f"{NODE}.livenessProbe cannot change"),
        (node(resources=None), f"{NODE}.resources cannot change"),
        (node(env=[{"name": "POD_NAME", "value": "x"}]), "env[POD_NAME]"),
        (node(env=[{"name": "PARTISAN_STATE", "value": "x"}]), "env[PARTISAN_STATE]"),
        (node(env=[{"name": "LD_PRELOAD", "value": "x"}]), "env[LD_PRELOAD]"),
        (node(env=[{"name": "PATH", "value": "x"}]), "env[PATH]"),
        (node(args=["-sname", "a"]), "spec.pods.emulatorArguments"),
        (node(command=["sh"]), f"{NODE}.command"),
        (
            node(volumeMounts=[{"name": "a", "mountPath": "/etc/partisan/config"}]),
            "volumeMounts[/etc/partisan/config]",
        ),
        (node(volumeMounts=[{"name": "a", "mountPath": "/opt/"}]), "volumeMounts[/opt/]"),
        ({"volumes": [{"name": "secret", "emptyDir": {}, "secret": None}]}, "volumes[secret]"),
        (
            {"volumes": [{"name": "config", "configMap": {"items": []}}]},
            "volumes[config] cannot change",
        ),
        ({"volumes": [{"name": "keys", "secret": {"optional": True}}]}, "volumes[keys] cannot"),
        (
            node(volumeMounts=[{"mountPath": "/var/lib/partisan", "subPath": "x"}]),
            f"{NODE}.volumeMounts[/var/lib/partisan] cannot change",
        ),
        (
            node(volumeMounts=[{"mountPath": "/srv/keys", "readOnly": True}]),
            f"{NODE}.volumeMounts[/srv/keys] cannot change",
        ),
        ({"shareProcessNamespace": True}, "shareProcessNamespace cannot be true"),
        ({"containers": [{"name": "other", "image": "a"}]}, "spec.pods.sidecars"),
        (
            {
                "initContainers": [
                    {"name": "a", "volumeMounts": [{"name": "secret", "mountPath": "/a"}]}
                ]
            },
            "secret is the node's alone",
        ),
        (
            {
                "initContainers": [
                    {"name": "a", "volumeMounts": [{"name": "data", "mountPath": "/a"}]}
                ]
            },
            "data is the node's alone",
        ),
        (
            {
                "initContainers": [
                    {
                        "name": "a",
                        "volumeMounts": [{"name": "partisan-restore", "mountPath": "/a"}],
                    }
                ]
            },
            "partisan-restore is the node's alone",
        ),
        ({"containers": None}, "spec.containers cannot change"),
        ({"containers": "all"}, "spec.containers must be a list"),
        ({"containers": [{}]}, "spec.containers[1].name must be a text"),
        (node(securityContext=[]), "spec.containers[0].securityContext must be an object"),
        (node(env=["A"]), "must be an object"),
        ({"volumes": [7]}, "must be an object"),
        ({"securityContext": {"capabilities": {"add": [1]}}}, "add[0] must be a text"),
    ],
    ids=str,
)
def test_changes_of_what_is_set_elsewhere_are_refused(patch: dict[str, Any], named: str) -> None:
    storage = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claims = [{"name": "data", "spec": storage}]
    found = refusals(
        patch,
        volumeClaimTemplates=claims,
        stateClaim="data",
        volumes=[{"name": "keys", "secret": {"secretName": "ads-keys"}}],
        volumeMounts=[{"name": "keys", "mountPath": "/srv/keys"}],
    )
    assert named in "; ".join(found), found


def test_the_service_account_may_be_repeated_but_not_changed() -> None:
    for field in ("serviceAccountName", "serviceAccount"):
        assert refusals({field: "ads"}, serviceAccountName="ads") == ()
        (refused,) = refusals({field: "other"}, serviceAccountName="ads")
        assert refused.startswith(f"spec.{field} cannot change")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["name", "containers", "volumes", "env", "securityContext", "lifecycle", "httpGet"]
            ),
            inner,
            max_size=3,
        )
    ),
)


@given(st.dictionaries(st.sampled_from(["containers", "volumes", "securityContext"]), JSON))
def test_no_patch_is_an_error_of_the_operator(patch: dict[str, Any]) -> None:
    wanted = cluster({"pods": {"override": {"spec": patch}}})
    plan(wanted, desired(wanted, INSTALLATION), World().observe(), INSTALLATION)


@pytest.mark.parametrize(
    "patch",
    [
        {"hostNetwork": True},
        {"volumes": [{"name": "a", "hostPath": {"path": "/"}}]},
        {"securityContext": {"runAsUser": 0}},
        node(securityContext={"privileged": True}),
        node(securityContext={"capabilities": {"drop": []}}),
        node(lifecycle={"preStop": {"httpGet": {"host": "10.0.0.1", "port": 80}}}),
        {"initContainers": [{"name": "a", "image": "b"}]},
    ],
    ids=str,
)
def test_the_merged_pod_meets_the_standard_or_nothing_is_changed(patch: dict[str, Any]) -> None:
    wanted = cluster({"pods": {"override": {"spec": patch}}})
    assert refusals(patch) == ()
    todo = plan(wanted, desired(wanted, INSTALLATION), World().observe(), INSTALLATION)
    assert todo.actions == ()
    assert todo.problem is not None
    assert todo.problem.reason is Reason.INVALID_SPEC
    assert "restricted" in todo.problem.message


def test_a_refused_patch_changes_nothing_and_is_named() -> None:
    wanted = cluster({"pods": {"override": {"spec": node(image="other:1")}}})
    todo = plan(wanted, desired(wanted, INSTALLATION), World().observe(), INSTALLATION)
    assert todo.actions == ()
    assert todo.problem is not None
    assert todo.problem.reason is Reason.OVERRIDE_REFUSED
    assert f"spec.{NODE}.image" in todo.problem.message


async def test_the_api_server_checks_a_patch_before_anything_is_changed(rig: Rig) -> None:
    await rig.converge()
    before = {path: item for path, item in rig.api.objects.items() if path != CLUSTER}
    tried: list[dict[str, Any]] = []

    async def refuse(template: dict[str, Any]) -> None:
        tried.append(template)
        raise KubeError(422, "spec.template.spec.restartPolicy: Unsupported value")

    accept = rig.tools.kube.try_apply
    rig.tools.kube.try_apply = refuse  # type: ignore[method-assign]
    patch = {"spec": {"restartPolicy": "Never"}}
    rig.change({**rig.api.objects[CLUSTER]["spec"], "pods": {"override": patch}})
    await rig.reconcile()
    assert [each["kind"] for each in tried] == ["StatefulSet"]
    assert before.items() <= rig.api.objects.items()
    degraded = rig.condition("Degraded")
    assert degraded["reason"] == "OverrideRefused"
    assert "restartPolicy: Unsupported value" in degraded["message"]
    assert rig.condition("Progressing")["reason"] == "OverrideRefused"
    rig.tools.kube.try_apply = accept  # type: ignore[method-assign]
    await rig.reconcile()
    template = rig.api.objects[SET]["spec"]["template"]["spec"]
    assert template["restartPolicy"] == "Never"
    assert f"/api/v1{NAMESPACE}/configmaps/ads-config" in rig.api.objects
