"""Sums and quantiles out of pages of metrics."""

import math

import pytest

from scale_tests.cluster.kwok.phases import writes_so_far
from scale_tests.cluster.monitoring.exposition import Page, quantile


def page(*counts: int) -> Page:
    """A histogram with buckets of 0.5 and 1 second, and one beyond; `counts` are cumulative."""
    bounds = ("0.5", "1.0", "+Inf")
    lines = [
        f'r_bucket{{le="{bound}",outcome="ok"}} {n}'
        for bound, n in zip(bounds, counts, strict=True)
    ]
    return Page.parse("# TYPE r histogram\n" + "\n".join(lines) + "\n")


def test_a_quantile_is_of_the_difference() -> None:
    assert quantile(0.5, page(100, 100, 100), page(100, 110, 110), "r") == pytest.approx(0.75)
    assert quantile(1.0, page(0, 0, 0), page(10, 10, 10), "r") == pytest.approx(0.5)


def test_a_quantile_beyond_the_last_bound_is_infinite_and_of_nothing_is_none() -> None:
    assert math.isinf(quantile(0.99, page(0, 0, 0), page(1, 1, 10), "r"))
    assert math.isnan(quantile(0.99, page(1, 1, 1), page(1, 1, 1), "r"))


def test_writes_leave_out_reads_and_leader_election() -> None:
    name = "partisan_operator_api_calls_total"
    text = "".join(
        f'{name}{{verb="{verb}",kind="{kind}",code="200"}} {n}\n'
        for verb, kind, n in (
            ("get", "Pod", 5),
            ("apply", "Service", 2),
            ("apply_status", "PartisanCluster", 3),
            ("update", "Lease", 7),
        )
    )
    found = Page.parse(f"# TYPE {name} counter\n{text}")
    assert found.total(name) == 17
    assert writes_so_far(found) == 5
