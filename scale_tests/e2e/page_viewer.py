"""A viewer of the live page: reads the stream as a browser does, and reconnects."""

import http.client
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from partisan_operator.console.patches import apply

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Json

SILENCE = 120.0
"""Seconds without a byte after which a connection is given up; the operator writes each 15."""


class Viewer:
    """A stream and the documents that it has led to."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self.document: Json = {}
        self.by_event: dict[str, Json] = {}
        """The document after each event, by its id."""

        self.reasons: list[str] = []
        self.last = ""
        self._url, self._headers = url, dict(headers)
        self._closed = threading.Event()

    @contextmanager
    def open(self) -> Iterator["Viewer"]:
        """Follows the stream until the block is left."""
        thread = threading.Thread(target=self._follow, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._closed.set()

    def _follow(self) -> None:
        while not self._closed.is_set():
            last = {"Last-Event-ID": self.last} if self.last else {}
            try:
                with urlopen(
                    Request(self._url, headers=self._headers | last), timeout=SILENCE
                ) as r:
                    self._read(r)
            except (OSError, http.client.HTTPException):
                # No leader, or the end of a connection.
                self._closed.wait(0.5)

    def _read(self, lines: IO[bytes]) -> None:
        event: dict[str, str] = {}
        for line in lines:
            if self._closed.is_set():
                return
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name:
                event[name] = value
            elif "data" in event:
                self._take(event)
                event = {}

    def _take(self, event: Mapping[str, str]) -> None:
        content = json.loads(event["data"])
        if event["event"] == "snapshot":
            self.document = content["document"]
            self.reasons.append(content["reason"])
        else:
            self.document = apply(self.document, content["patch"])
        self.last = event["id"]
        self.by_event[self.last] = self.document


def status(url: str, headers: Mapping[str, str]) -> int:
    """The status of the answer to a request, without its body."""
    try:
        with urlopen(Request(url, headers=dict(headers)), timeout=SILENCE) as answer:
            return int(answer.status)
    except HTTPError as error:
        return error.code


@contextmanager
def forwarded(environment: Environment, pod: str) -> Iterator[str]:
    """The URL of the page of one of the operator's pods, on this host."""
    words = ["port-forward", f"--namespace={operator.NAMESPACE}", f"pod/{pod}", ":8090"]
    pattern = r"Forwarding from (127\.0\.0\.1:\d+)"
    with printed(environment, [operator.tool("kubectl"), *words], pattern) as address:
        yield f"http://{address}"


@contextmanager
def printed(
    environment: Environment, command: list[str], pattern: str, **variables: str
) -> Iterator[str]:
    """The first group of `pattern` in a program's output; the program ends with the block."""
    process = subprocess.Popen(
        command,
        env={**os.environ, **environment.variables, **variables},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        found = next(filter(None, (re.search(pattern, line) for line in process.stdout)), None)
        assert found is not None, f"{command} ended before it wrote {pattern}"
        yield found[1]
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()
        process.stdout.close()
