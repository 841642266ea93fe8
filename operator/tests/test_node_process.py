"""The emulator's arguments and the probes of a node, as users set them."""

from typing import Any

import pytest

from partisan_operator.children import node_process
from partisan_operator.models.emulator import LEAST_TABLE
from partisan_operator.models.pods import Pods
from test_crd import ROOT
from world import manifest

OWN: dict[str, Any] = {
    "emulatorArguments": [
        {"flag": "+hmax", "values": ["1000000"]},
        {"flag": "-my_app", "values": ["verbose", "true", "greeting", "hello world"]},
        {"flag": "+c"},
    ],
    "probes": {
        "startup": {"failureThreshold": 5000},
        "readiness": {"periodSeconds": 5},
        "liveness": {"timeoutSeconds": 30, "failureThreshold": 10},
    },
}


def container(**pods: Any) -> dict[str, Any]:
    found: dict[str, Any] = manifest("StatefulSet", pods=pods)["spec"]["template"]["spec"]
    (node,) = found["containers"]
    return dict(node)


def flags(node: dict[str, Any]) -> dict[str, str]:
    return {entry["name"]: entry["value"] for entry in node["env"] if "value" in entry}


def test_arguments_are_words_of_the_entry_point() -> None:
    words = ["+hmax", "1000000", "-my_app", "verbose", "true", "greeting", "hello world", "+c"]
    found = container(**OWN)
    assert found["args"] == words
    # The image's entry point stays.
    assert "command" not in found
    assert "args" not in container()
    assert flags(found) == {"ERL_FLAGS": "+S 1:1"}


def test_schedulers_that_the_user_sets_are_not_overridden() -> None:
    """ERL_FLAGS come after the arguments, and the last one wins."""
    found = container(emulatorArguments=[{"flag": "+S", "values": ["4:4"]}])
    assert found["args"] == ["+S", "4:4"]
    assert flags(found) == {}


def test_only_the_timing_of_probes_changes() -> None:
    before, after = container(), container(**OWN)
    changed = {
        (probe, field): value
        for probe in ("startupProbe", "readinessProbe", "livenessProbe")
        for field, value in after[probe].items()
        if before[probe][field] != value
    }
    assert changed == {
        ("startupProbe", "failureThreshold"): 5000,
        ("readinessProbe", "periodSeconds"): 5,
        ("livenessProbe", "timeoutSeconds"): 30,
        ("livenessProbe", "failureThreshold"): 10,
    }


def test_tables_are_at_least_as_large_as_in_the_image() -> None:
    lines = (ROOT / "erlang_node" / "config" / "vm.args").read_text().splitlines()
    sizes = [int(line.split()[1]) for line in lines if line.startswith(("+P ", "+Q "))]
    assert sizes == [LEAST_TABLE, LEAST_TABLE]


@pytest.mark.parametrize("own", [{}, OWN])
def test_the_template_has_all_that_made_it(own: dict[str, Any]) -> None:
    """So that an undo can restore it."""
    restored = node_process.from_template(container(**own))
    assert Pods.model_validate(restored) == Pods.model_validate(own)
