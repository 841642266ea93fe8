"""Requests to the API server as the official client sends them: paths, JSON, errors, counters."""

import json
from typing import Any
from urllib.parse import quote

import aiohttp
from kubernetes.aio.client import ApiClient

from partisan_operator.api import metrics
from partisan_operator.api.errors import KubeError
from partisan_operator.children.child import Manifest
from partisan_operator.models.cluster import GROUP, KIND, PLURAL, VERSION

REQUEST_TIMEOUT = 30.0
"""Seconds."""

_PATHS = {
    # The namespace itself, which has no further name in its path.
    "Namespace": ("api/v1", ""),
    "StatefulSet": ("apis/apps/v1", "statefulsets"),
    "Service": ("api/v1", "services"),
    "ConfigMap": ("api/v1", "configmaps"),
    "Secret": ("api/v1", "secrets"),
    "Pod": ("api/v1", "pods"),
    "Event": ("api/v1", "events"),
    "EndpointSlice": ("apis/discovery.k8s.io/v1", "endpointslices"),
    "Certificate": ("apis/cert-manager.io/v1", "certificates"),
    "Lease": ("apis/coordination.k8s.io/v1", "leases"),
    "NetworkPolicy": ("apis/networking.k8s.io/v1", "networkpolicies"),
    "PodDisruptionBudget": ("apis/policy/v1", "poddisruptionbudgets"),
    "PodMonitor": ("apis/monitoring.coreos.com/v1", "podmonitors"),
    KIND: (f"apis/{GROUP}/{VERSION}", PLURAL),
}

NOT_SERVED = "404 page not found"
"""The API server's answer for a kind that is not served; the one for a missing object names it."""


class Requests:
    """Sends requests, and counts them by verb, kind and code."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    async def about(
        self,
        verb: str,
        method: str,
        kind: str,
        namespace: str,
        name: str = "",
        *,
        subresource: str = "",
        parameters: list[tuple[str, str]] | None = None,
        headers: dict[str, str] | None = None,
        body: Manifest | None = None,
    ) -> Manifest:
        """Make one request about a kind; without a namespace, a list of all. Raises `KubeError`."""
        group, plural = _PATHS[kind]
        place = ("namespaces", namespace) if namespace else ()
        parts = [*group.split("/"), *place, plural, name, subresource]
        return await self.path(
            verb,
            f"{kind} {name}".rstrip(),
            method,
            "/" + "/".join(segment(part) for part in parts if part),
            query_params=parameters,
            header_params={"Accept": "application/json"} | (headers or {}),
            body=body,
        )

    async def path(
        self, verb: str, subject: str, method: str, path: str, **options: Any
    ) -> Manifest:
        """Make one request to a path. Raises `KubeError`."""
        code, request = 0, f"{verb.replace('_', ' the ')} {subject}"
        try:
            serialised = await self._client.param_serialize(
                method, path, auth_settings=["BearerToken"], **options
            )
            response = await self._client.call_api(*serialised, _request_timeout=REQUEST_TIMEOUT)
            code = response.status
            text = await response.read()
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise KubeError(0, f"no answer: {error or type(error)}", request) from error
        finally:
            metrics.api_calls.labels(verb, subject.partition(" ")[0], str(code)).inc()
        if not 200 <= code < 300:
            raise KubeError(code, _message(text, code), request)
        try:
            answer = json.loads(text)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            # As of a proxy in between.
            raise KubeError(0, f"the answer is no JSON object: {_message(text, code)}", request)
        return answer


def api_version(kind: str) -> str:
    """Return the `apiVersion` of a kind."""
    return _PATHS[kind][0].removeprefix("apis/").removeprefix("api/")


def segment(text: str) -> str:
    """Return text as one segment of a path.

    Raises `KubeError` for text that is no valid name. Quoting is not enough: the API server undoes
    it before it splits the path.
    """
    if text in (".", "..") or "/" in text or "%" in text:
        raise KubeError(400, f"{text!r} cannot be the name of an object")
    return quote(text, safe="")


def _message(body: bytes, code: int) -> str:
    """Return the message of a `Status` object, or the beginning of any other body."""
    try:
        return str(json.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        text = body[:200].decode(errors="replace").strip()
        return text if text == NOT_SERVED else f"HTTP {code}: {text}"
