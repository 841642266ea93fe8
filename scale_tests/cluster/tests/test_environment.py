"""The cluster and the images that the variables select."""

from pathlib import Path

import pytest

from scale_tests.cluster.environment import from_variables
from scale_tests.host.commands import ExpectedError
from scale_tests.localkube.settings import Settings


def test_without_variables_the_cluster_is_local() -> None:
    environment = from_variables({})
    assert environment.local
    assert environment.kubeconfig == Settings().kubeconfig
    assert environment.node_image == "localhost/partisan/erlang-node:dev"


def test_a_cluster_of_ones_own_pulls_from_the_registry() -> None:
    environment = from_variables({"KUBECONFIG": "own", "REGISTRY": "registry:5000/x/"})
    assert not environment.local
    assert environment.kubeconfig == Path("own")
    assert environment.operator_image == "registry:5000/x/operator:dev"


def test_a_cluster_to_which_nothing_is_pushed_needs_no_registry() -> None:
    environment = from_variables({"KUBECONFIG": "own"}, pushing=False)
    assert (environment.local, environment.kubeconfig) == (False, Path("own"))
    with pytest.raises(ExpectedError, match="KUBECONFIG is not"):
        from_variables({"REGISTRY": "x"}, pushing=False)


@pytest.mark.parametrize("variable", ["KUBECONFIG", "REGISTRY"])
def test_one_variable_without_the_other_is_refused(variable: str) -> None:
    with pytest.raises(ExpectedError, match="unset both"):
        from_variables({variable: "x"})
