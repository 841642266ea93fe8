"""The changes to the local cluster's components for a measurement."""

import json
from pathlib import Path

import pytest

from scale_tests.cluster.kwok.control_plane import (
    CONTROLLERS,
    LIMITS,
    PODS,
    PROGRAMS,
    at_default_limits,
    audited,
)
from scale_tests.cluster.kwok.machines import PODS_PER_MACHINE, ZONES, count_for, machine
from scale_tests.localkube.components import components
from scale_tests.localkube.settings import Settings

SETTINGS = Settings()
BY_NAME = {
    component.name: component
    for component in components(SETTINGS, Path("/bin-of-version"), Path(), [])
}


def test_all_programs_are_components_of_the_local_cluster() -> None:
    assert set(PROGRAMS) <= BY_NAME.keys()
    assert set(CONTROLLERS) <= set(PROGRAMS)


@pytest.mark.parametrize("name", CONTROLLERS)
def test_default_limits_are_those_that_no_flag_sets(name: str) -> None:
    flags = [argument for argument in BY_NAME[name].argv if argument.startswith(LIMITS)]
    kept = at_default_limits(BY_NAME[name]).argv
    assert len(flags) == 2
    assert [argument for argument in BY_NAME[name].argv if argument not in flags] == list(kept)


def test_only_some_users_are_audited() -> None:
    policy = Path("/config/audit.json")
    component = audited(BY_NAME["kube-apiserver"], policy, Path("/logs/audit.log"), ["a", "b"])
    rules = json.loads(component.files[policy])["rules"]
    assert rules == [{"level": "Metadata", "users": ["a", "b"]}, {"level": "None"}]
    assert f"--audit-policy-file={policy}" in component.argv


def test_pods_have_addresses_of_their_own() -> None:
    for network in (SETTINGS.pod_network, SETTINGS.service_network):
        assert not PODS.overlaps(network)
    assert PODS.num_addresses > 10_000


def test_there_is_room_for_all_pods_in_every_zone() -> None:
    assert count_for(1) == ZONES
    assert count_for(5000) * PODS_PER_MACHINE > 5000
    zones = {
        machine(index)["metadata"]["labels"]["topology.kubernetes.io/zone"]
        for index in range(count_for(1))
    }
    assert len(zones) == ZONES
