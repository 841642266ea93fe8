"""Helm, for the tests that need it."""

import pytest

from scale_tests.cluster.operator import tool
from scale_tests.host.commands import ExpectedError


@pytest.fixture(scope="session")
def helm() -> str:
    """The program; a test that takes it is skipped where it was not built.

    It is found before a test changes HOME, below which it is.
    """
    try:
        return tool("helm")
    except ExpectedError:
        pytest.skip("needs helm: make cluster")
