"""Durations, shares and resource quantities."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kubernetes.utils import parse_quantity

from partisan_operator.models.quantities import (
    _parse_quantity,
    milliseconds,
    same_quantity,
    share,
    whole,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("500ms", 500), ("10s", 10_000), ("1m30s", 90_000), ("1.5s", 1_500), ("0.2ms", 1)],
)
def test_durations(text: str, expected: int) -> None:
    assert milliseconds(text) == expected


@pytest.mark.parametrize("text", ["", "10", "s", "1 s", "10s ", "-1s", "1d"])
def test_invalid_durations(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration"):
        milliseconds(text)


@given(st.integers(1, 100), st.integers(1, 1024))
def test_a_share_is_at_least_one_and_rounded_down(percent: int, total: int) -> None:
    count = share(f"{percent}%", total)
    assert count == 1 or count * 100 <= percent * total


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("0.5", "500m", True),
        ("1000m", 1, True),
        ("1Gi", "1024Mi", True),
        ("64Mi", "64M", False),
        # How the API server stores fractions of a thousandth, and values out of range.
        ("500u", "0.5m", True),
        ("1n", "0.0000000001", True),
        ("9223372036854775807", "99999999999Ti", True),
        ("8Ei", "99999999999Ti", True),
        ("1P", "1000T", True),
        ("1e3", 1000, True),
        (-1, "-1", True),
        (-1, 1, False),
        (True, 1, False),
        ("node:1", "node:1", False),
        ("7e99999999", "7e99999999", False),  # as a hash may be
        (None, None, False),
    ],
)
def test_equal_quantities(left: object, right: object, same: bool) -> None:
    assert same_quantity(left, right) is same


@given(
    st.decimals("-1e6", "1e6", places=6),
    st.sampled_from(["", *"numkMGTPE", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]),
)
def test_quantities_are_parsed_like_the_official_client(number: Decimal, suffix: str) -> None:
    text = f"{number:f}{suffix}"
    assert _parse_quantity(text) == parse_quantity(text)


@pytest.mark.parametrize(
    ("quantity", "count"), [("10m", 1), ("1001m", 2), (0, 1), ("1.5", 2), (-1, 1), ("-1", 1)]
)
def test_whole_numbers(quantity: int | str, count: int) -> None:
    assert whole(quantity) == count


def test_invalid_quantities_are_rejected() -> None:
    with pytest.raises(ValueError, match="no quantity"):
        whole("many")
