"""The Pod Security Standard `restricted`, as a check of a pod's spec."""

from typing import Any

import pytest
from hypothesis import given

from partisan_operator.children import restricted
from partisan_operator.decide.reconcile import desired, plan
from partisan_operator.models.problem import Reason
from strategies import pods
from world import INSTALLATION, World, cluster, manifest


def pod(**changes: Any) -> dict[str, Any]:
    """Return the spec of a pod that the operator makes, with another container and changes."""
    found = manifest("StatefulSet")["spec"]["template"]["spec"]
    return {**found, **changes}


def other(**context: Any) -> dict[str, Any]:
    """Return the spec of such a pod whose second container has this in its security context."""
    node = pod()["containers"][0]
    security = {**node["securityContext"], **context}
    return pod(containers=[node, {"name": "other", "image": "a", "securityContext": security}])


@given(pods)
def test_pods_of_the_operator_meet_it(additions: dict[str, Any]) -> None:
    found = manifest("StatefulSet", pods=additions)["spec"]["template"]["spec"]
    assert restricted.violations(found) == ()


OTHER = "containers[other].securityContext"


@pytest.mark.parametrize(
    ("found", "named"),
    [
        (pod(hostNetwork=True), "hostNetwork: true"),
        (pod(hostPID=True), "hostPID: true"),
        (pod(volumes=[{"name": "a", "hostPath": {"path": "/"}}]), "volumes[a]: hostPath"),
        (pod(volumes=[{"name": "a"}]), "volumes[a]: no kind"),
        (other(privileged=True), f"{OTHER}.privileged: true"),
        (other(allowPrivilegeEscalation=True), f"{OTHER}.allowPrivilegeEscalation: not false"),
        (other(allowPrivilegeEscalation=None), f"{OTHER}.allowPrivilegeEscalation: not false"),
        (other(capabilities={}), f"{OTHER}.capabilities.drop: without ALL"),
        (
            other(capabilities={"drop": ["ALL"], "add": ["SYS_ADMIN"]}),
            f"{OTHER}.capabilities.add: SYS_ADMIN",
        ),
        (other(runAsNonRoot=False), f"{OTHER}.runAsNonRoot: not true"),
        (other(runAsUser=0), f"{OTHER}.runAsUser: 0"),
        (other(seccompProfile={"type": "Unconfined"}), f"{OTHER}.seccompProfile: unconfined"),
        (other(appArmorProfile={"type": "Unconfined"}), f"{OTHER}.appArmorProfile: Unconfined"),
        (other(procMount="Unmasked"), f"{OTHER}.procMount: Unmasked"),
        (other(seLinuxOptions={"user": "system_u"}), f"{OTHER}.seLinuxOptions"),
        (other(windowsOptions={"hostProcess": True}), f"{OTHER}.windowsOptions.hostProcess: true"),
    ],
)
def test_what_it_forbids_is_named(found: dict[str, Any], named: str) -> None:
    assert restricted.violations(found) == (named,)


def test_what_a_pod_or_a_port_may_not_have() -> None:
    node = pod()["containers"][0]
    context = {"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}
    found = pod(
        securityContext=context,
        initContainers=[{"name": "first", "image": "a"}],
        containers=[node | {"ports": [{"containerPort": 1, "hostPort": 80}]}],
    )
    said = " ".join(restricted.violations(found))
    assert "securityContext.sysctls: kernel.msgmax" in said
    assert "containers[node].ports: hostPort 80" in said
    assert "initContainers[first].securityContext.runAsNonRoot: not true" in said
    assert "containers[node].securityContext.seccompProfile: unconfined" in said


def test_a_spec_that_an_older_crd_accepted_is_not_followed() -> None:
    sidecar = {"name": "root", "image": "a", "securityContext": {"privileged": True}}
    wanted = cluster({"pods": {"sidecars": [sidecar]}})
    found = plan(wanted, desired(wanted, INSTALLATION), World().observe(), INSTALLATION)
    assert found.waves == ()
    assert found.problem is not None
    assert found.problem.reason is Reason.INVALID_SPEC
    assert "initContainers[root].securityContext.privileged: true" in found.problem.message
