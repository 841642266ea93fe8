"""The answers of the cluster's endpoints, in a line."""

import pytest

from scale_tests.localkube.api import reason


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('{"kind": "Status", "message": "nodes \\"x\\" not found"}', 'nodes "x" not found'),
        (
            "[+]ping ok\n[-]etcd failed: reason withheld\n[+]log ok\n",
            "etcd failed: reason withheld",
        ),
        ("no\nidea\n", "no; idea"),
        ("[1, 2]", "[1, 2]"),
        ("", ""),
    ],
)
def test_a_reason_is_one_line(body: str, expected: str) -> None:
    assert reason(body) == expected


def test_a_long_page_is_cut() -> None:
    assert len(reason("x" * 5000)) == 200
