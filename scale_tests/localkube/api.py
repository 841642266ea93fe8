"""A small client of the cluster's endpoints, with the administrator's certificate."""

import http.client
import json
import socket
import ssl
import urllib.parse
from typing import Any

from scale_tests.host.commands import ExpectedError
from scale_tests.localkube.settings import Settings

FIELD_MANAGER = "partisan-localkube"


class ApiError(ExpectedError):
    """An endpoint does not answer, or refuses; the message names it and the reason."""


class Client:
    """Talks to the API server and to the components' health endpoints."""

    def __init__(self, settings: Settings) -> None:
        pki = settings.certificates
        self._server = settings.server
        self._tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self._tls.load_cert_chain(pki / "admin.crt", pki / "admin.key")

    def get(self, path: str) -> Any:
        """The JSON document at an API path. Raises ApiError."""
        return json.loads(self._request("GET", self._server + path))

    def apply(self, path: str, document: dict[str, Any]) -> None:
        """Server-side apply of one object at its path. Raises ApiError."""
        url = f"{self._server}{path}?fieldManager={FIELD_MANAGER}&force=true"
        kind = {"Content-Type": "application/apply-patch+yaml"}
        self._request("PATCH", url, json.dumps(document), kind)

    def delete(self, path: str) -> None:
        """Deletes the object at an API path. Raises ApiError."""
        self._request("DELETE", self._server + path)

    def obstacle(self, url: str) -> str:
        """The reason why a component's `ready` URL reports it as not ready; empty when it is."""
        try:
            if url.startswith("unix://"):
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.connect(url.removeprefix("unix://"))
            else:
                self._request("GET", url)
        except (ApiError, OSError) as error:
            return str(error) or repr(error)
        return ""

    def _request(
        self, method: str, url: str, body: str | None = None, headers: dict[str, str] | None = None
    ) -> str:
        parts = urllib.parse.urlsplit(url)
        assert parts.hostname is not None, url
        connection = (
            http.client.HTTPSConnection(parts.hostname, parts.port, timeout=60, context=self._tls)
            if parts.scheme == "https"
            else http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
        )
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        try:
            connection.request(method, target, body, headers or {})
            response = connection.getresponse()
            text = response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise ApiError(f"{url}: {error or repr(error)}") from error
        finally:
            connection.close()
        if response.status >= 300:
            raise ApiError(f"{url}: {response.status}, {reason(text)}")
        return text


def reason(body: str) -> str:
    """The message of an error response in one line.

    That of a Kubernetes Status, the failed ones of a list of health checks, or the first 200
    characters.
    """
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        lines = body.strip().splitlines()
    failed = [line.removeprefix("[-]") for line in lines if line.startswith("[-]")]
    return "; ".join(failed or lines)[:200]
