"""Errors of commands, as people read them."""

from collections.abc import Callable

import pytest

from scale_tests.host.commands import CommandError, capture, stream


@pytest.mark.parametrize("run", [capture, stream])
def test_a_missing_program_is_named_with_the_remedy(run: Callable[[list[str]], object]) -> None:
    with pytest.raises(CommandError, match=r"absent-program is missing: python3 -m scale_tests\."):
        run(["absent-program", "--version"])


def test_an_error_holds_the_output_of_both_streams() -> None:
    with pytest.raises(CommandError, match=r"status 3:\nout\nerr$") as raised:
        capture(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (raised.value.status, raised.value.output) == (3, "out\nerr")


def test_a_command_reads_its_input_or_nothing() -> None:
    assert capture(["cat"], stdin="text") == "text"
    assert capture(["cat"]) == ""
