"""Fixtures of several test files."""

from collections.abc import AsyncIterator

import pytest
from hypothesis import HealthCheck, settings

from fake_api import FakeApi
from fake_kubectl import FakeKubectl
from loop_rig import CLUSTER, MANIFEST, FakeNodes, Rig, assemble
from partisan_operator.loop import ClusterLoop

# The duration of an example depends on the load of the host, not on the code.
settings.register_profile("any host", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any host")


@pytest.fixture
def kubectl() -> FakeKubectl:
    """Return a fake kubectl with a small healthy cluster."""
    return FakeKubectl()


@pytest.fixture
async def rig() -> AsyncIterator[Rig]:
    """Make a new cluster and its loop."""
    api, nodes = FakeApi(), FakeNodes()
    tools = assemble(await api.start(), nodes)
    api.put("/api/v1/namespaces/default", {"metadata": {"name": "default"}})
    api.put(CLUSTER, MANIFEST)
    yield Rig(api, nodes, ClusterLoop("default", "ads", tools), tools)
    await api.stop()
