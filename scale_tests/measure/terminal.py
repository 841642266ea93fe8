"""The end of a command on the terminal."""

import signal
from collections.abc import Callable

from rich.console import Console

from scale_tests.host.commands import ExpectedError

INTERRUPTED = 130
"""The exit status of a command that the user has interrupted."""


def run(command: Callable[[], int], *expected: type[Exception], interrupted: str) -> int:
    """Runs a command; returns its exit status.

    An ExpectedError, and others that are `expected`, are one line and status 1; the rest are
    defects, with a traceback.
    `interrupted` describes the state after an interruption, or after SIGTERM.
    """
    reported: tuple[type[Exception], ...] = (ExpectedError, *expected)
    # A termination from outside clears away what the command started, as Ctrl-C does.
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return command()
    except reported as error:
        Console(stderr=True).print(f"error: {error}", style="red", markup=False, soft_wrap=True)
        return 1
    except KeyboardInterrupt:
        Console().print(f"\nInterrupted{interrupted}", markup=False)
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, before)
