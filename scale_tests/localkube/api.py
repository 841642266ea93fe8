"""A small client of the cluster's endpoints, with the administrator's certificate."""

import json
import socket
import ssl
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPSHandler, ProxyHandler, Request, build_opener

from scale_tests.host.commands import ExpectedError
from scale_tests.localkube.settings import Settings


class ApiError(ExpectedError):
    """An endpoint does not answer, or refuses; the message names it and the reason."""


class Client:
    """Talks to the API server and to the components' health endpoints."""

    def __init__(self, settings: Settings) -> None:
        pki = settings.certificates
        self._server = settings.server
        tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        tls.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        # A proxy of the environment is none for addresses of this machine.
        self._opener = build_opener(ProxyHandler({}), HTTPSHandler(context=tls))

    def get(self, path: str) -> Any:
        """The JSON document at an API path. Raises ApiError."""
        return json.loads(self._request("GET", self._server + path))

    def apply(self, path: str, document: dict[str, Any]) -> None:
        """Server-side apply of one object at its path. Raises ApiError."""
        url = f"{self._server}{path}?fieldManager=partisan-localkube&force=true"
        self._request("PATCH", url, json.dumps(document).encode())

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

    def _request(self, method: str, url: str, patch: bytes | None = None) -> str:
        headers = {"Content-Type": "application/apply-patch+yaml"} if patch else {}
        request = Request(url, patch, headers, method=method)
        try:
            with self._opener.open(request, timeout=60) as response:
                return str(response.read().decode())
        except HTTPError as error:
            raise ApiError(f"{url}: {error.code}, {reason(error.read().decode())}") from error
        except (OSError, HTTPException) as error:
            raise ApiError(f"{url}: {getattr(error, 'reason', error)}") from error


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
