"""A client of the API server in plain JSON.

The official client's models take longer than the requests when 32 nodes are read every second; its
reading of kubeconfig files is used.
"""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

import urllib3
import yaml
from kubernetes import client, config

from scale_tests.host.commands import ExpectedError

Json = dict[str, Any]
"""An object of the API server, as it came."""

ANSWER_SECONDS = 60.0
"""How long an API server may take to answer; a busy one takes its time."""

PARTISAN = "apis/partisan.dev/v1alpha1"
"""The group and version of PartisanClusters in paths."""


class ApiError(ExpectedError):
    """The API server refused a request, with its own reason (`NotFound`, `Invalid`, ...)."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        self.status = status
        self.reason = reason
        self.message = message
        super().__init__(f"{reason or status}: {message}")


class Cluster:
    """A connection to an API server, safe to be used by several threads at once."""

    def __init__(self, kubeconfig: Path) -> None:
        """Reads a kubeconfig. Raises ApiError for one that is missing or cannot be used."""
        settings = client.Configuration()
        try:
            config.load_kube_config(config_file=str(kubeconfig), client_configuration=settings)
        except (config.ConfigException, OSError, yaml.YAMLError) as error:
            raise ApiError(0, "KUBECONFIG", f"{kubeconfig} cannot be used: {error}") from error
        self.kubeconfig = kubeconfig
        self._base = settings.host.rstrip("/")
        # With a refresh hook, for clusters whose tokens come from a helper program.
        self._token: Callable[[], str | None] = lambda: settings.get_api_key_with_prefix(
            "BearerToken", alias="authorization"
        )
        self._pool = urllib3.PoolManager(
            maxsize=16,
            block=True,
            cert_reqs="CERT_REQUIRED" if settings.verify_ssl else "CERT_NONE",
            ca_certs=settings.ssl_ca_cert,
            cert_file=settings.cert_file,
            key_file=settings.key_file,
            retries=False,
        )

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = "application/json",
        timeout: float = ANSWER_SECONDS,
    ) -> bytes:
        """Sends a request; returns the body of the answer. `timeout` is in seconds.

        Raises ApiError: the server answered with an error, or not at all (status 0).
        """
        headers = {"Accept": "application/json, */*", "Content-Type": content_type}
        token = self._token()
        if token:
            headers["Authorization"] = token
        url = f"{self._base}/{path}" + (f"?{urlencode(query)}" if query else "")
        try:
            answer = self._pool.request(
                method,
                url,
                body=None if body is None else json.dumps(body),
                headers=headers,
                timeout=urllib3.Timeout(timeout),
            )
        except urllib3.exceptions.HTTPError as error:
            raise ApiError(0, "Unreachable", f"{method} {path}: {error}") from error
        if answer.status >= 400:
            raise _api_error(answer.status, answer.data)
        return answer.data

    def get(self, path: str, *, timeout: float = ANSWER_SECONDS, **query: str) -> Json:
        """Reads one object or list. Raises ApiError."""
        answer = self.request("GET", path, query=query, timeout=timeout)
        return cast(Json, json.loads(answer))

    def find(self, path: str) -> Json | None:
        """Reads one object that may not exist. Raises ApiError for any other error."""
        try:
            return self.get(path)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def text(self, path: str, **query: str) -> str:
        """Reads text, such as a pod's log. Raises ApiError."""
        return self.request("GET", path, query=query).decode(errors="replace")

    def create(self, path: str, body: Json) -> Json:
        """Creates an object in the collection `path`. Raises ApiError."""
        return cast(Json, json.loads(self.request("POST", path, body=body)))

    def patch(self, path: str, body: Json) -> None:
        """Merges `body` into an object (JSON merge patch). Raises ApiError."""
        self.request("PATCH", path, body=body, content_type="application/merge-patch+json")

    def delete(self, path: str, **query: str) -> None:
        """Deletes an object; one that does not exist is no error. Raises ApiError."""
        try:
            self.request("DELETE", path, query=query)
        except ApiError as error:
            if error.status != 404:
                raise

    def list(self, path: str, selector: str = "") -> list[Json]:
        """The objects of a collection, of those with the labels of `selector`. Raises ApiError."""
        query = {"labelSelector": selector} if selector else {}
        answer = json.loads(self.request("GET", path, query=query))
        return cast(list[Json], answer["items"])

    def version(self) -> str:
        """The version of the API server, such as `v1.36.3`. Raises ApiError."""
        return cast(str, self.get("version")["gitVersion"])


def moment() -> str:
    """Now, as the API server has times of objects."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def holds(item: Json, condition: str) -> bool:
    """Whether a condition of an object is True; one that it does not have is not."""
    conditions = (item.get("status") or {}).get("conditions") or ()
    return any(c["type"] == condition and c["status"] == "True" for c in conditions)


def core(namespace: str, resource: str, name: str = "") -> str:
    """The path of an object, or collection, of the core group in a namespace."""
    return f"api/v1/namespaces/{namespace}/{resource}" + (f"/{name}" if name else "")


def partisan_cluster(namespace: str, name: str = "") -> str:
    """The path of a PartisanCluster, or of all of a namespace."""
    path = f"{PARTISAN}/namespaces/{namespace}/partisanclusters"
    return path + (f"/{name}" if name else "")


def manifest(name: str, **spec: Any) -> Json:
    """A PartisanCluster of this spec."""
    return {
        "apiVersion": "partisan.dev/v1alpha1",
        "kind": "PartisanCluster",
        "metadata": {"name": name},
        "spec": spec,
    }


def _api_error(status: int, data: bytes) -> ApiError:
    """An error's answer: a Status object of the API server, or whatever a proxied pod wrote."""
    try:
        answer = json.loads(data)
    except ValueError:
        return ApiError(status, "", data.decode(errors="replace").strip())
    if not isinstance(answer, dict):
        return ApiError(status, "", str(answer))
    return ApiError(status, str(answer.get("reason", "")), str(answer.get("message", "")))
