"""Mistakes in manifests are found."""

import pytest

from docs.tools.manifests import schema_at, yaml_problems


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("spec: {replicas: 0}", ".spec.replicas: 0 breaks minimum 1"),
        ("spec: {replicas: many}", ".spec.replicas: 'many' is no integer"),
        ("spec: {paused: 1}", ".spec.paused: 1 is no boolean"),
        ("spec: {replica: 3}", ".spec.replica is unknown"),
        ("overlay: {kind: Ring}", ".spec.overlay.kind: 'Ring' breaks enum"),
        ("spec: {channels: [{parallelism: 2}]}", ".spec.channels[0].name is missing"),
        ("spec: {channels: []}", ".spec.channels: [] breaks minItems 1"),
        ("spec: {nodeSelector: {disk: 1}}", ".spec.nodeSelector.disk: 1 is no string"),
        ("spec: {rollout: {maxUnavailable: [1]}}", "is neither an integer nor a string"),
        ("{apiVersion: v1, kind: PartisanCluster, spec: {}}", "apiVersion: v1"),
        ("{apiVersion: v1, kind: Service}", "Service: apiVersion or metadata is missing"),
        ("- a", "no object: ['a']"),
    ],
)
def test_a_mistake_is_found(text: str, problem: str) -> None:
    (found,) = yaml_problems(text)
    assert problem in found


@pytest.mark.parametrize(
    ("path", "there"),
    [
        ("spec.channels[].name", True),
        ("spec.overlay.hyParView.activeMax", True),
        ("spec.nodeSelector.disk", True),
        ("status.workload.value", True),
        ("spec.replicas.few", False),
        ("spec.channels.nam", False),
    ],
)
def test_a_field_is_found_by_its_path(path: str, there: bool) -> None:
    assert (schema_at(path) is not None) == there
