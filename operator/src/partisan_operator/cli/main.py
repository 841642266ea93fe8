"""`kubectl-partisan`: runs one command; errors are one line."""

import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper

from partisan_operator.cli import parser
from partisan_operator.cli.access import CommandError, Context, checked
from partisan_operator.cli.kubectl import Kubectl, KubectlError
from partisan_operator.cli.text import harmless

FAILED = 1
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status: 0, 1 for an error, or the command's."""
    # As Ctrl-C, so that a running kubectl ends too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    arguments = parser.build().parse_args(argv)
    if isinstance(sys.stdout, TextIOWrapper):
        # A terminal of another encoding than UTF-8 has no signs for pictures.
        sys.stdout.reconfigure(errors="replace")
    api = Kubectl(kubeconfig=arguments.kubeconfig, context=arguments.context)
    try:
        # Commands without a cluster work without kubectl and its configuration.
        asks = arguments.needs_cluster and not arguments.namespace
        namespace = api.namespace() if asks else arguments.namespace
        if namespace:
            checked(namespace)
        status: int = arguments.run(Context(api, namespace, sys.stdout), arguments)
        sys.stdout.flush()
        return status
    except (CommandError, KubectlError) as error:
        sys.stderr.write(f"{parser.PROGRAM}: {harmless(str(error))}\n")
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe (`| head`): write nothing at exit either.
        _drop_output()
        return FAILED
    except OSError as error:
        # Such as a full disk below the output.
        sys.stderr.write(f"{parser.PROGRAM}: {harmless(str(error))}\n")
        _drop_output()
        return FAILED


def _drop_output() -> None:
    """Drop what is not written yet: Python would try again at exit."""
    with suppress(OSError):  # the output may be no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
