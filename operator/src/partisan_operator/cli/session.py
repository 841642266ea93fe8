"""Commands on a node, over the console in its pod: `node_commands` of the node answers them.

One `kubectl exec` for any number of commands. It needs the right to create `pods/exec`; the node
opens no port for it.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from partisan_operator.cli.access import CommandError, Context
from partisan_operator.cli.kubectl import Json, Pipe
from partisan_operator.models.containers import OWN_CONTAINER

_PROGRAM = "/opt/partisan/bin/partisan_node"
_SERVE = "node_commands:serve()."
_UNKNOWN = "undefined function node_commands:"
"""The answer of a shell in an image without that module."""


def console(context: Context, node: str, *options: str) -> list[str]:
    """Return the words after `kubectl` that attach to a node's console."""
    pod = [f"--namespace={context.namespace}", node, f"--container={OWN_CONTAINER}"]
    return ["exec", "--stdin", *options, *pod, "--", _PROGRAM, "remote_console"]


class Session:
    """A console that answers commands."""

    def __init__(self, node: str, pipe: Pipe) -> None:
        """Begin; raises `CommandError` if the node's image knows no commands."""
        self._node, self._pipe = node, pipe
        self._exchange(_SERVE)

    def ask(self, *words: str) -> Json:
        """Return the answer to a command.

        Raises `CommandError` with the node's own error; `KubectlError` if the session has ended.
        """
        answer = self._exchange(" ".join(words))
        if "error" in answer:
            raise CommandError(f"{self._node}: {answer['error']}")
        return answer

    def _exchange(self, line: str) -> Json:
        self._pipe.send(line)
        while (found := _object(answer := self._pipe.receive())) is None:
            # The shell's greeting and prompts, or its error.
            if _UNKNOWN in answer:
                raise CommandError(
                    f"the image of {self._node} is older than this plugin and has no such command:"
                    " use the node image of the plugin's release, or one built on it"
                )
        return found


def _object(line: str) -> Json | None:
    """Return the JSON object on a line; None for another line, such as one of Erlang's terms."""
    if not line.startswith("{"):
        return None
    try:
        found: Json = json.loads(line)
    except ValueError:
        return None
    return found


@contextmanager
def session(context: Context, node: str) -> Iterator[Session]:
    """Attach to a node for some commands.

    Raises `CommandError` if its image knows none; `KubectlError`.
    """
    with context.api.pipe(console(context, node)) as pipe:
        yield Session(node, pipe)
