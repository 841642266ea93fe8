"""The CustomResourceDefinition matches the models, and the API server accepts it."""

import base64
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from partisan_operator.models import crd
from partisan_operator.models.spec import MAX_CONNECTIONS, MAX_TLS_CONNECTIONS

ROOT = Path(__file__).parents[2]
COMMITTED = ROOT / "crds" / "partisanclusters.yaml"


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every node of a schema with its path."""
    yield path, schema
    for name, child in (schema.get("properties") or {}).items():
        yield from nodes(child, f"{path}.{name}")
    for name in ("items", "additionalProperties"):
        if isinstance(schema.get(name), dict):
            yield from nodes(schema[name], f"{path}[]")


FLAGS = ("+P", "+Q")
"""The flags of the emulator that set the size of its tables of processes and ports."""

VERSION, *OTHERS = crd.custom_resource_definition()["spec"]["versions"]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]
SPEC = dict(nodes(SCHEMA["properties"]["spec"], "spec"))
STATUS = dict(nodes(SCHEMA["properties"]["status"], "status"))


def test_the_committed_file_is_up_to_date() -> None:
    assert crd.main(["--check", str(COMMITTED)]) == 0


def test_the_versions_differ_in_their_names_alone() -> None:
    """Only then may the API server convert without a webhook."""
    assert crd.custom_resource_definition()["spec"]["conversion"] == {"strategy": "None"}
    (other,) = OTHERS
    assert other == {**VERSION, "name": "v1beta1", "storage": False}


def test_the_older_version_is_stored_so_that_the_previous_crd_can_come_back() -> None:
    assert (VERSION["name"], VERSION["served"], VERSION["storage"]) == ("v1alpha1", True, True)


def test_kubernetes_and_helm_can_store_it() -> None:
    # etcd refuses requests above 1.5 MiB. Helm keeps a release, which has the chart's files in
    # base64 and what was rendered of them, in a Secret, whose data have at most 1 MiB.
    text = COMMITTED.read_bytes()
    assert len(text) < 1_250_000
    release = gzip.compress(base64.b64encode(text) + text)
    assert len(base64.b64encode(release)) < 700_000


def test_an_outdated_file_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stale = tmp_path / "crd.yaml"
    stale.write_text("kind: Other\n")
    assert crd.main(["--check", str(stale)]) == 1
    assert "is out of date: run" in capsys.readouterr().err


@pytest.mark.parametrize("path", [*SPEC, *STATUS])
def test_every_node_is_structural_and_every_field_is_explained(path: str) -> None:
    node = SPEC.get(path) or STATUS[path]
    assert not {"$ref", "title", "const", "exclusiveMinimum"} & node.keys()
    assert "type" in node or node.get("x-kubernetes-int-or-string")
    if not path.endswith("[]"):
        assert node.get("description"), f"kubectl explain has no text for {path}"


@pytest.mark.parametrize("path", SPEC)
def test_everything_in_the_spec_is_bounded(path: str) -> None:
    """Bounds keep the cost of the validation rules, and of an object, within limits."""
    node = SPEC[path]
    bounds = {"array": "maxItems", "string": "maxLength", "integer": "maximum"}
    bound = bounds.get(node.get("type", ""))
    if bound and "enum" not in node and not path.endswith("tolerationSeconds"):
        assert bound in node
    if "additionalProperties" in node:
        assert "maxProperties" in node


def test_defaults_hold_no_nulls_and_no_empty_values() -> None:
    for node in SPEC.values():
        assert node.get("default", "x") not in (None, {}, [], "")
    assert SPEC["spec.overlay"]["default"] == {"kind": "HyParView"}
    assert SPEC["spec.replicas"] == {
        "default": 3,
        "description": "Number of nodes, one pod each.",
        "format": "int32",
        "maximum": 1024,
        "minimum": 1,
        "type": "integer",
    }


def test_an_emulator_has_room_for_the_connections_that_a_spec_may_ask_for() -> None:
    lines = (ROOT / "erlang_node" / "config" / "vm.args").read_text().splitlines()
    room = {flag: int(size) for flag, size in (line.split() for line in lines if line[:2] in FLAGS)}
    # A node opens as many as it accepts; one with TLS is four processes.
    assert min(room["+Q"], room["+P"]) > 2 * MAX_CONNECTIONS
    assert room["+P"] > 2 * 4 * MAX_TLS_CONNECTIONS


def test_channels_are_a_map_by_name() -> None:
    assert SPEC["spec.channels"]["x-kubernetes-list-map-keys"] == ["name"]


def test_every_rule_says_what_to_do() -> None:
    validations = [
        rule
        for node in (SCHEMA, *SPEC.values())
        for rule in node.get("x-kubernetes-validations", ())
    ]
    assert len(validations) >= 12
    assert all(len(rule["message"]) > 30 for rule in validations)


def test_columns_and_subresources() -> None:
    names = [column["name"].upper() for column in VERSION["additionalPrinterColumns"]]
    assert names == ["OVERLAY", "NODES", "READY", "JOINED", "PHASE", "CONVERGED", "AGE"]
    assert VERSION["subresources"]["scale"]["labelSelectorPath"] == ".status.selector"


def test_no_name_is_one_of_kubernetes_own() -> None:
    """`pc` is the short name of PriorityClass; `kubectl delete all --all` spares clusters."""
    names = crd.custom_resource_definition()["spec"]["names"]
    assert names["singular"] == "partisancluster"
    assert names["shortNames"] == ["pcl"]
    assert "categories" not in names
