"""Workflows of the forge, and examples for those who install from a repository."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from images.release import chart
from images.release.version import version
from scale_tests.cluster.operator import CHART
from scale_tests.host.commands import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yaml"))
GITOPS = sorted((ROOT / "examples" / "gitops").glob("*.yaml"))

MAY_WRITE = {("release", "contents"), ("release", "packages")}
"""Jobs, with what each may write; nothing else."""


def documents(path: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(path.read_text()))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_may_do_no_more_than_it_needs(path: Path) -> None:
    (workflow,) = documents(path)
    granted = [(name, job.get("permissions", {})) for name, job in workflow["jobs"].items()]
    assert "permissions" in workflow
    writing = {
        (name, scope)
        for name, permissions in [("all", workflow["permissions"]), *granted]
        for scope, level in permissions.items()
        if level != "read"
    }
    assert writing <= MAY_WRITE


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_nothing_of_others_and_no_text_of_a_stranger(path: Path) -> None:
    (workflow,) = documents(path)
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 240
        for step in job["steps"]:
            assert "uses" not in step
            assert "${{" not in step["run"], "pass values by the environment"
            targets = set(re.findall(r"^ *make ([a-z-]+)", step["run"], re.MULTILINE))
            assert targets <= set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))


def test_the_tests_of_the_forge_are_those_of_any_other() -> None:
    (workflow,) = documents(ROOT / ".github" / "workflows" / "test.yaml")
    assert workflow["jobs"]["test"]["steps"][-1]["run"] == ".ci/run"


def test_no_host_is_named_in_a_workflow() -> None:
    for path in WORKFLOWS:
        assert not re.search(r"https?://|\b[a-z-]+\.(io|com|org)\b", path.read_text()), path


def paths(values: Any, prefix: str = "") -> set[str]:
    """The keys of values, with dots between them, up to those that the chart leaves open."""
    if not isinstance(values, dict) or not values:
        return {prefix}
    return {path for key, value in values.items() for path in paths(value, f"{prefix}.{key}")}


@pytest.mark.parametrize("path", GITOPS, ids=lambda path: path.stem)
def test_an_example_sets_values_that_the_chart_has(path: Path) -> None:
    own = paths(yaml.safe_load((ROOT / CHART / "values.yaml").read_text()))
    found = [
        values
        for item in documents(path)
        for values in (
            item["spec"].get("values"),
            item["spec"].get("source", {}).get("helm", {}).get("valuesObject"),
        )
        if values
    ]
    (values,) = found
    unknown = [one for one in paths(values) if not any(one.startswith(each) for each in own)]
    assert unknown == []


@pytest.mark.parametrize("path", GITOPS, ids=lambda path: path.stem)
def test_an_example_takes_the_chart_of_this_version(path: Path) -> None:
    text = path.read_text()
    assert (
        f"registry.example.com/partisan/charts{'' if 'chart:' in text else '/' + chart.NAME}"
        in text
    )
    assert version() in text
    for item in documents(path):
        assert {"apiVersion", "kind", "metadata", "spec"} <= set(item)
