"""Fixtures of several test files."""

from __future__ import annotations

import pytest

from fake_kubectl import FakeKubectl


@pytest.fixture
def kubectl() -> FakeKubectl:
    """Return a kubectl before a small cluster that is well."""
    return FakeKubectl()
