"""A registry in memory, as far as skopeo and helm need one: pushes, and what was pushed."""

import hashlib
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


class _Server(ThreadingHTTPServer):
    """Keeps blobs by digest; manifests, with their types, by repository and digest or tag."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[tuple[str, str], tuple[str, bytes]] = {}
        self.uploads: dict[str, bytes] = {}


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        repository, kind, reference = self._place()
        found = None
        if kind == "manifests":
            found = self.server.manifests.get((repository, reference))
        elif reference in self.server.blobs:
            found = "application/octet-stream", self.server.blobs[reference]
        if urlsplit(self.path).path == "/v2/":
            self._answer(200)
        elif found is None:
            self._answer(404)
        else:
            media_type, content = found
            self._answer(200, content, {"Content-Type": media_type, **_digest(content)})

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        upload = str(len(self.server.uploads))
        self.server.uploads[upload] = b""
        self._answer(202, headers={"Location": f"{urlsplit(self.path).path}{upload}"})

    def do_PATCH(self) -> None:
        upload = self.path.rpartition("/")[2]
        self.server.uploads[upload] += self._body()
        self._answer(202, headers={"Location": self.path})

    def do_PUT(self) -> None:
        repository, kind, reference = self._place()
        content = self._body()
        if kind == "manifests":
            stored = str(self.headers["Content-Type"]), content
            for name in (reference, _digest(content)["Docker-Content-Digest"]):
                self.server.manifests[repository, name] = stored
        else:
            parts = urlsplit(self.path)
            content = self.server.uploads[parts.path.rpartition("/")[2]] + content
            (wanted,) = parse_qs(parts.query)["digest"]
            assert wanted == _digest(content)["Docker-Content-Digest"]
            self.server.blobs[wanted] = content
        self._answer(201, headers=_digest(content))

    def log_message(self, *_: Any) -> None:
        """Writes nothing."""

    def _place(self) -> tuple[str, str, str]:
        found = re.fullmatch(r"/v2/(.+)/(manifests|blobs)/(.+)", urlsplit(self.path).path)
        return (found[1], found[2], found[3]) if found else ("", "", "")

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def _answer(
        self, status: int, content: bytes = b"", headers: dict[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _digest(content: bytes) -> dict[str, str]:
    return {"Docker-Content-Digest": f"sha256:{hashlib.sha256(content).hexdigest()}"}


@contextmanager
def registry() -> Iterator[str]:
    """Runs a registry while the block runs; yields its host and port."""
    with _Server() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
