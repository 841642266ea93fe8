"""Reports of nodes that did not answer this time."""

from datetime import timedelta

import pytest

from partisan_operator.observe.observation import REPORT_LIFETIME, Endpoint, Seen, merge_reports
from world import START, report


@pytest.mark.parametrize(
    ("age", "uid", "kept"),
    [
        (0.0, "uid", True),
        (REPORT_LIFETIME, "uid", True),
        (REPORT_LIFETIME + 0.1, "uid", False),
        (1.0, "uid-of-a-successor", False),
        # The clock was set back by an hour.
        (-3600.0, "uid", False),
    ],
)
def test_a_recent_report_counts_while_its_pod_exists(age: float, uid: str, *, kept: bool) -> None:
    earlier = {"ads-0": Seen(report("ads-0"), "uid", START)}
    endpoints = {"ads-0": Endpoint("ads-0", uid, "10.0.0.1", ready=True)}
    found = merge_reports(earlier, {}, endpoints, START + timedelta(seconds=age))
    assert ("ads-0" in found) == kept
