"""kubectl as a client of the API server: one process for each request.

A request needs some 30 ms, and every way of logging in is supported: exec plugins, OIDC, proxies,
in-cluster accounts. Objects stay JSON.
"""

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryFile
from threading import Thread
from typing import Any, cast
from urllib.parse import urlencode

Json = dict[str, Any]

PROGRAM = "kubectl"
FIELD_MANAGER = "kubectl-partisan"
REQUEST_TIMEOUT = "15s"
"""Kubectl's timeout for one answer."""

_WAKE_SECONDS = 0.5
"""Between two moments at which a signal is certainly handled."""

_END_SECONDS = 5.0
"""Seconds in which kubectl ends after its input."""

_NO_CONTEXT = "current-context must exist"
"""kubectl's error where there is no kubeconfig, or none of its contexts is chosen."""

_POD_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")

_SERVER_ERROR = re.compile(r"Error from server(?: \((?P<reason>\w+)\))?: (?P<message>.*)", re.S)
_INVALID = re.compile(r"The \S+ \"[^\"]*\" is invalid: (?P<message>.*)", re.S)


class KubectlError(Exception):
    """kubectl failed: the API server refused a request, or was not reached."""

    def __init__(self, reason: str, message: str) -> None:
        """Make an error; `reason` is the API server's (`NotFound`), empty where it gave none."""
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Pipe:
    """A running kubectl, by lines; both functions raise `KubectlError` once it has ended."""

    send: Callable[[str], None]
    receive: Callable[[], str]


class Kubectl:
    """The API server of one kubeconfig context. Threads may share it."""

    def __init__(self, *, kubeconfig: str = "", context: str = "") -> None:
        """Make a connection; empty arguments stand for kubectl's defaults."""
        options = (("--kubeconfig", kubeconfig), ("--context", context))
        self._options = [f"{name}={value}" for name, value in options if value]

    def run(self, arguments: Sequence[str], *, given: str = "") -> str:
        """Run kubectl, with `given` as its input, and return its output.

        Raises `KubectlError`.
        """
        argv = [PROGRAM, *arguments, *self._options]
        try:
            done = subprocess.run(argv, input=given.encode(), capture_output=True, check=False)
        except FileNotFoundError:
            raise KubectlError("", "kubectl is not on the PATH: install it") from None
        if done.returncode != 0:
            raise error_in(done.stderr.decode(errors="replace"))
        return done.stdout.decode(errors="replace")

    def interact(self, arguments: Sequence[str]) -> int:
        """Run kubectl on the terminal of this process; return its exit status."""
        return subprocess.run([PROGRAM, *arguments, *self._options], check=False).returncode

    def stream(self, arguments: Sequence[str]) -> Iterator[str]:
        """Run kubectl and yield the lines that it writes, as they come.

        Raises `KubectlError`.
        """
        argv = [PROGRAM, *arguments, *self._options]
        with subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            # To the terminal: a pipe that is read only at the end would block kubectl.
            stderr=None,
            text=True,
            errors="replace",
        ) as process:
            lines: SimpleQueue[str | None] = SimpleQueue()
            reader = Thread(target=_read, args=(process.stdout, lines), daemon=True)
            reader.start()
            try:
                yield from _until_none(lines)
            finally:
                process.terminate()
                reader.join()
        if process.returncode > 0:
            raise KubectlError("", f"kubectl {arguments[0]} failed, its error is above")

    @contextmanager
    def pipe(self, arguments: Sequence[str]) -> Iterator[Pipe]:
        """Run kubectl, to write to it and read from it until the block ends.

        Raises `KubectlError` if kubectl ends before.
        """
        argv = [PROGRAM, *arguments, *self._options]
        with (
            # A file: a pipe that is read only at the end would block kubectl.
            TemporaryFile() as errors,
            subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                errors="replace",
            ) as process,
        ):
            stdin, stdout = process.stdin, process.stdout
            assert stdin is not None
            assert stdout is not None

            def ended() -> KubectlError:
                process.wait()
                errors.seek(0)
                return error_in(errors.read().decode(errors="replace"))

            def send(line: str) -> None:
                try:
                    stdin.write(f"{line}\n")
                    stdin.flush()
                except BrokenPipeError:
                    raise ended() from None

            def receive() -> str:
                if not (line := stdout.readline()):
                    raise ended()
                return line.rstrip("\n")

            try:
                yield Pipe(send, receive)
            finally:
                # What kubectl has not taken is lost with it.
                with suppress(BrokenPipeError):
                    stdin.close()
                # The end of the input is also the end of the program in the container.
                try:
                    process.wait(_END_SECONDS)
                except subprocess.TimeoutExpired:
                    process.terminate()

    def text(self, path: str, **query: str) -> str:
        """Read one path of the API server, such as a node's `/metrics` through its proxy.

        Raises `KubectlError`.
        """
        raw = f"/{path}" + (f"?{urlencode(query)}" if query else "")
        return self.run(["get", "--raw", raw, f"--request-timeout={REQUEST_TIMEOUT}"])

    def get(self, path: str, **query: str) -> Json:
        """Read one object or list.

        Raises `KubectlError`, also for an answer that is not a JSON object.
        """
        answer = self.text(path, **query)
        try:
            value = json.loads(answer)
        except (ValueError, RecursionError):  # the latter of a node's lists within lists
            value = None
        if not isinstance(value, dict):
            raise KubectlError("", f"/{path} did not answer with a JSON object")
        return value

    def items(self, path: str, *, labels: str = "") -> list[Json]:
        """Read the objects of a collection that carry these labels.

        Raises `KubectlError`.
        """
        query = {"labelSelector": labels} if labels else {}
        return cast(list[Json], self.get(path, **query).get("items") or [])

    def merge(
        self, namespace: str, resource: str, name: str, patch: Json, *, dry_run: bool = False
    ) -> Json:
        """Merge `patch` into an object and return the outcome.

        With `dry_run` the API server checks everything and stores nothing. Raises `KubectlError`.
        """
        arguments = ["patch", resource, name, f"--namespace={namespace}", "--type=merge"]
        arguments += [f"--patch={json.dumps(patch)}", f"--field-manager={FIELD_MANAGER}"]
        arguments += ["--output=json"] + (["--dry-run=server"] if dry_run else [])
        return cast(Json, json.loads(self.run(arguments)))

    def create(self, manifest: Json, *, dry_run: bool = False) -> None:
        """Create an object.

        With `dry_run` the API server checks everything and stores nothing. Raises `KubectlError`,
        with the reason `AlreadyExists` if there is an object of that name.
        """
        arguments = ["create", f"--field-manager={FIELD_MANAGER}", "--filename=-"]
        arguments += ["--dry-run=server"] if dry_run else []
        self.run(arguments, given=json.dumps(manifest))

    def namespace(self) -> str:
        """Return the namespace of the context. Raises `KubectlError`."""
        query = "jsonpath={.contexts[0].context.namespace}"
        try:
            found = self.run(["config", "view", "--minify", f"--output={query}"])
        except KubectlError as error:
            # Without a kubeconfig kubectl works in a pod, in the pod's namespace.
            if self._options or _NO_CONTEXT not in str(error):
                raise
            try:
                own = _POD_NAMESPACE.read_text(encoding="utf-8").strip()
            except OSError:
                raise error from None
            found = os.environ.get("POD_NAMESPACE") or own
        return found or "default"


def core(namespace: str, resource: str, name: str = "") -> str:
    """Return the path of an object, or a collection, of the core group."""
    return f"api/v1/namespaces/{namespace}/{resource}" + (f"/{name}" if name else "")


def error_in(output: str) -> KubectlError:
    """Return the error that kubectl wrote, on one line and without its boilerplate."""
    text = " ".join(output.split())
    if match := _SERVER_ERROR.search(text):
        return KubectlError(match["reason"] or "", match["message"])
    if match := _INVALID.search(text):
        return KubectlError("Invalid", match["message"])
    return KubectlError("", text.removeprefix("error: ") or "kubectl failed without a message")


def _read(stream: Iterable[str], lines: SimpleQueue[str | None]) -> None:
    for line in stream:
        lines.put(line.rstrip("\n"))
    lines.put(None)


def _until_none(lines: SimpleQueue[str | None]) -> Iterator[str]:
    """Yield the lines that another thread reads.

    A signal that comes just before a read begins is handled after it, which may be never: so this
    thread, whose signals they are, does not read, and wakes now and then.
    """
    while True:
        try:
            line = lines.get(timeout=_WAKE_SECONDS)
        except Empty:
            continue
        if line is None:
            return
        yield line
