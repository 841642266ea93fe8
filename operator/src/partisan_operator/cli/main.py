"""`kubectl-partisan`: runs one command, and turns every error into one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from partisan_operator.cli import parser
from partisan_operator.cli.access import CommandError, Context
from partisan_operator.cli.kubectl import Kubectl, KubectlError

FAILED = 1
INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status: 0, 1 for an error, or what the command says."""
    arguments = parser.build().parse_args(argv)
    api = Kubectl(kubeconfig=arguments.kubeconfig, context=arguments.context)
    try:
        # What needs no cluster works without kubectl and its configuration too.
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
        # The reader has seen enough (`| head`): nothing may be written to it at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


if __name__ == "__main__":
    sys.exit(main())
