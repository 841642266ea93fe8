"""A port of this host that adds the user's token to the requests of one browser.

== Why a port of its own ==

A browser cannot send a token with an event stream, except in the URL, where histories, logs and the
process list show it. So the token stays in this process and is added to each request on its way to
the port-forward. The browser identifies itself by a cookie that scripts cannot read. It gets the
cookie for a key in the URL that is valid once, so a URL that is seen later opens nothing.

Only 127.0.0.1 is served, and only under that name: a foreign site whose name leads there
(DNS rebinding) is refused.
"""

import http.client
import secrets
import sys
from http import cookies
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit

HOST = "127.0.0.1"
_PASSED = ("Accept", "Last-Event-ID")
_RETURNED = (
    "Content-Type",
    "Content-Security-Policy",
    "Cross-Origin-Opener-Policy",
    "Cross-Origin-Resource-Policy",
    "Referrer-Policy",
    "X-Content-Type-Options",
    "Retry-After",
)
_PIECE = 64 * 1024


class LocalPage(ThreadingHTTPServer):
    """The server; requests run in threads that end with the process."""

    daemon_threads = True

    def __init__(self, upstream: int, token: str) -> None:
        """Listen on a free port; requests go to the port `upstream` of this host."""
        super().__init__((HOST, 0), _Handler)
        self.upstream, self.token = upstream, token
        self.session = secrets.token_urlsafe(32)
        # Cookies do not differ by port, and several pages may be open.
        self.cookie = f"partisan_web_{self.server_port}"
        self._key = secrets.token_urlsafe(32)
        self._lock = Lock()

    def url(self, path: str = "/") -> str:
        """Return the URL that opens the page once."""
        return f"http://{HOST}:{self.server_port}{path}?key={self._key}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Show defects alone: a browser may close a connection at any time."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    def redeem(self, key: str) -> bool:
        """Whether the key is valid; it is used up then."""
        with self._lock:
            valid = bool(self._key) and secrets.compare_digest(key.encode(), self._key.encode())
            if valid:
                self._key = ""
            return valid


class _Handler(BaseHTTPRequestHandler):
    server: LocalPage
    # The end of an answer is the end of its connection.
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        """Pass a request of the browser on."""
        if self.headers.get("Host") != f"{HOST}:{self.server.server_port}":
            self.send_error(403)
            return
        try:
            # Browsers encode all other letters. http.client passes none of them on.
            address = urlsplit(self.path.encode("ascii").decode())
        except ValueError:
            self.send_error(400)
            return
        key = parse_qs(address.query).get("key", [""])[0]
        if key and self.server.redeem(key):
            self._admit(address.path)
        elif not self._known():
            self.send_error(403, "start kubectl partisan web again")
        else:
            self._pass_on()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the name there)
        """Log nothing: the terminal shows the URL alone."""

    def _known(self) -> bool:
        jar = cookies.SimpleCookie()
        try:
            jar.load(self.headers.get("Cookie", ""))
        except cookies.CookieError:
            return False
        found = jar.get(self.server.cookie)
        value = "" if found is None else found.value
        return secrets.compare_digest(value.encode(), self.server.session.encode())

    def _admit(self, path: str) -> None:
        self.send_response(303)
        # A path that begins with two slashes would lead to another host.
        self.send_header("Location", "/" + path.lstrip("/"))
        cookie = f"{self.server.cookie}={self.server.session}; HttpOnly; SameSite=Strict; Path=/"
        self.send_header("Set-Cookie", cookie)
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()

    def _pass_on(self) -> None:
        headers = {name: self.headers[name] for name in _PASSED if name in self.headers}
        headers["Authorization"] = f"Bearer {self.server.token}"
        upstream = http.client.HTTPConnection(HOST, self.server.upstream)
        try:
            upstream.request("GET", self.path, headers=headers)
            answer = upstream.getresponse()
            self.send_response(answer.status)
            for name in _RETURNED:
                if value := answer.getheader(name):
                    self.send_header(name, value)
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            while piece := answer.read1(_PIECE):
                self.wfile.write(piece)
        except (OSError, http.client.HTTPException):
            # Either side is gone. The browser reconnects as long as this process runs.
            return
        finally:
            upstream.close()
