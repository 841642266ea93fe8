"""`kubectl-partisan`: runs one command; errors are one line."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from partisan_operator.cli import parser
from partisan_operator.cli.access import CommandError, Context
from partisan_operator.cli.kubectl import Kubectl, KubectlError

FAILED = 1
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status: 0, 1 for an error, or the command's."""
    # As Ctrl-C, so that a running kubectl ends too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    arguments = parser.build().parse_args(argv)
    api = Kubectl(kubeconfig=arguments.kubeconfig, context=arguments.context)
    try:
        # Commands without a cluster work without kubectl and its configuration.
        asks = arguments.needs_cluster and not arguments.namespace
        namespace = api.namespace() if asks else arguments.namespace
        status: int = arguments.run(Context(api, namespace, sys.stdout), arguments)
        return status
    except (CommandError, KubectlError) as error:
        sys.stderr.write(f"{parser.PROGRAM}: {error}\n")
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has closed the pipe (`| head`): write nothing at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


if __name__ == "__main__":
    sys.exit(main())
