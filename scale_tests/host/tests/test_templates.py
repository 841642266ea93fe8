"""Documents that are filled in."""

from ipaddress import IPv4Address

import pytest

from scale_tests.host.templates import filled

ADDRESS = IPv4Address("192.0.2.1")


def test_texts_are_filled_in_keys_and_values_at_any_depth() -> None:
    document = {"{name}": [{"at": "{address}:80"}, 7, None]}
    assert filled(document, name="a", address=ADDRESS) == {"a": [{"at": "192.0.2.1:80"}, 7, None]}


def test_a_lone_placeholder_keeps_the_type_of_its_value() -> None:
    assert filled(["{address.version}", "{names}"], address=ADDRESS, names=["a"]) == [4, ["a"]]


def test_a_brace_is_written_twice() -> None:
    assert filled("{{a}}") == "{a}"


def test_a_placeholder_without_a_value_is_an_error() -> None:
    with pytest.raises(KeyError):
        filled("{nothing}")
