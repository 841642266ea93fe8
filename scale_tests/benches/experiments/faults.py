"""What a cell may suffer while it runs: a hook that others fill in.

An experiment names the hook, `faults: {hook: "package.module:function", parameters: {...}}`. It is
called once, in a thread of its own, as soon as the nodes count, and may take as long as it wants:
the cell is collected when it has returned and the run has ended.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, Json


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The running cluster of a cell."""

    environment: Environment
    cluster: Cluster
    namespace: str
    name: str
    nodes: int
    speedup: float
    seed: int


class Fault(Protocol):
    """Does something to a running cluster."""

    def __call__(self, scene: Scene, parameters: Mapping[str, Any]) -> Json:
        """Returns what it has done, for the cell's `faults`. An exception fails the cell."""


def load(hook: str) -> Fault:
    """The function that a hook names.

    Raises:
        ValueError: there is none.
    """
    module, _, function = hook.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"hook: {hook!r} is no function ({error}): write package.module:function"
        ) from error
    return cast(Fault, found)
