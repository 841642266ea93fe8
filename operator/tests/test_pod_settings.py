"""Fields of a pod's spec that users set in `spec.pods`."""

from typing import Any

import pytest

from partisan_operator.children import pod_settings
from partisan_operator.models.pods import Pods
from world import manifest

OWN: dict[str, Any] = {
    "serviceAccountName": "app",
    "automountServiceAccountToken": True,
    "terminationGracePeriodSeconds": 120,
    "runtimeClassName": "sandboxed",
    "dnsConfig": {
        "nameservers": ["10.0.0.53"],
        "searches": ["example.org"],
        "options": [{"name": "ndots", "value": "2"}, {"name": "rotate"}],
    },
}


def spec(**pods: Any) -> dict[str, Any]:
    found: dict[str, Any] = manifest("StatefulSet", pods=pods)["spec"]["template"]["spec"]
    return found


def test_a_service_account_is_written_under_both_names_and_has_no_token() -> None:
    """The API server copies one to the other, so both have to go when it is removed."""
    found = spec(serviceAccountName="app")
    assert (found["serviceAccountName"], found["serviceAccount"]) == ("app", "app")
    assert found["automountServiceAccountToken"] is False
    assert not {"serviceAccountName", "serviceAccount"} & spec().keys()


def test_a_token_is_mounted_on_request() -> None:
    assert spec(automountServiceAccountToken=True)["automountServiceAccountToken"] is True


def test_settings_are_those_of_a_pod() -> None:
    assert spec(**OWN).items() >= OWN.items()
    default = spec()
    assert default["terminationGracePeriodSeconds"] == 30
    assert not {"runtimeClassName", "dnsConfig"} & default.keys()


@pytest.mark.parametrize("own", [{}, OWN])
def test_the_template_has_all_that_made_it(own: dict[str, Any]) -> None:
    """So that an undo can restore it."""
    restored = pod_settings.from_template(spec(**own))
    assert Pods.model_validate(restored) == Pods.model_validate(own)
