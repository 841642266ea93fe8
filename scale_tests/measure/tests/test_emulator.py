"""The flags of virtual machines that measure, and terms of their plans."""

from scale_tests.measure.emulator import parse, release, term


def test_the_flags_are_those_of_the_release() -> None:
    found = parse("## text\n-noshell\n+sbwt none\n", 'export MALLOC_X="${MALLOC_X-16}"\n')
    assert found.arguments == ("+sbwt", "none")
    assert found.environment == (("MALLOC_X", "16"),)
    assert "+sbwt" in release().arguments


def test_values_become_terms() -> None:
    assert [term(value) for value in (True, 3, "atom", ["ip", "netns"])] == [
        "true",
        "3",
        "atom",
        '["ip", "netns"]',
    ]
