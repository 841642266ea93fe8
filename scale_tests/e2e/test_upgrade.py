"""A counting cluster of an earlier revision, on OTP 25, is upgraded with all its parts."""

import pytest

from scale_tests.benches.upgrade import earlier, report, rolling
from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.e2e.conftest import NewSubject
from scale_tests.host import revision
from scale_tests.host.commands import CommandError

pytestmark = pytest.mark.alone(installs=True)
"""Replaces the operator that all tests rely on."""

FROM = "75e4a70"
"""The last revision whose nodes know one version of the wire format alone."""

NODES = 5


def test_a_counting_cluster_is_upgraded(new_subject: NewSubject, environment: Environment) -> None:
    try:
        revision.commit(FROM)
    except CommandError:
        pytest.skip("needs history: git fetch --unshallow")
    operator.uninstall_release(environment)
    old, chart = earlier.prepare(environment, FROM)
    cells = rolling.upgrade(new_subject("upgraded"), old, chart, NODES, print)
    assert cells[-1]["otp_before"] == ["25"]
    missed = [check for check in report.checks(cells) if not check.ok]
    assert not missed, cells[-1]
