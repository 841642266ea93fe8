"""Fields of a pod's spec that `spec.pods` sets: from there to the pod, and back."""

from collections.abc import Mapping
from typing import Any

from partisan_operator.children.child import Manifest
from partisan_operator.models.pod_settings import GRACE_SECONDS
from partisan_operator.models.pods import Pods


def settings(pods: Pods) -> Manifest:
    """Return the fields."""
    return {
        **_service_account(pods.service_account_name),
        "automountServiceAccountToken": pods.automount_service_account_token,
        "terminationGracePeriodSeconds": pods.termination_grace_period_seconds,
        **_if_set("runtimeClassName", pods.runtime_class_name),
        **_if_set("dnsConfig", pods.dns_config.to_wire()),
    }


def from_template(pod: Mapping[str, Any]) -> Manifest:
    """Return the fields of `spec.pods` that made a pod's spec."""
    return {
        "serviceAccountName": pod.get("serviceAccountName", ""),
        "automountServiceAccountToken": pod.get("automountServiceAccountToken", False),
        "terminationGracePeriodSeconds": pod.get("terminationGracePeriodSeconds", GRACE_SECONDS),
        "runtimeClassName": pod.get("runtimeClassName", ""),
        "dnsConfig": pod.get("dnsConfig") or {},
    }


def _if_set(name: str, value: Any) -> Manifest:
    return {name: value} if value else {}


def _service_account(name: str) -> Manifest:
    """Return the ServiceAccount under both names of its field.

    The API server copies one to the other: if the operator owned only the new name, a removal would
    leave the copy in force.
    """
    return {"serviceAccountName": name, "serviceAccount": name} if name else {}
