"""A kubectl with a small cluster `ads` in namespace `staging`, from recorded answers.

It knows the paths that the plugin reads, with the answers of an API server, and records the
requested changes.
"""

import io
import json
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from partisan_operator.cli import parser
from partisan_operator.cli.access import Context
from partisan_operator.cli.kubectl import Kubectl, Pipe, error_in

Json = dict[str, Any]

NAMESPACE = "staging"
NOW = datetime(2026, 1, 1, 1, 0, tzinfo=UTC)
TOKEN = "5d0f" * 16
CLUSTERS = f"/apis/partisan.dev/v1alpha1/namespaces/{NAMESPACE}/partisanclusters"
CORE = f"/api/v1/namespaces/{NAMESPACE}"
_CHILDREN = {
    "statefulsets": "/apis/apps/v1",
    "services": "/api/v1",
    "configmaps": "/api/v1",
    "endpointslices": "/apis/discovery.k8s.io/v1",
    "poddisruptionbudgets": "/apis/policy/v1",
    "networkpolicies": "/apis/networking.k8s.io/v1",
}


def condition(kind: str, status: str, reason: str, message: str = "") -> Json:
    """Return a condition of the cluster."""
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-01-01T00:59:00Z",
    }


class FakeKubectl(Kubectl):
    """Answers from `answers`, by path; text is an error of the API server."""

    def __init__(self) -> None:
        super().__init__()
        self.commands: list[list[str]] = []
        self.patches: list[Json] = []
        self.created: list[Json] = []
        self.refusal = ""
        """The API server's error for a change; empty if it accepts it."""

        self.console: list[str] = []
        """The output of a node's console, by the lines that are sent to it."""

        self.sent: list[str] = []
        """The lines that were sent to consoles."""

        self.log = ""
        self.cluster: Json = {
            "apiVersion": "partisan.dev/v1alpha1",
            "kind": "PartisanCluster",
            "metadata": {
                "name": "ads",
                "namespace": NAMESPACE,
                "uid": "cluster-uid",
                "generation": 2,
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "managedFields": [{}],
            },
            "spec": {"replicas": 4, "overlay": {"kind": "HyParView", "hyParView": {}}},
            "status": {
                "observedGeneration": 2,
                "observedAt": "2026-01-01T00:59:30.000Z",
                "replicas": 4,
                "ready": 4,
                "joined": 4,
                "updated": 4,
                "configured": 4,
                "phase": "Ready",
                "timings": {
                    "appliedAt": "2026-01-01T00:00:00.000Z",
                    "readyAt": "2026-01-01T00:00:04.500Z",
                },
                "overlay": {
                    "kind": "HyParView",
                    "components": 1,
                    "isolated": 0,
                    "meanDegree": 2.0,
                    "links": 4,
                },
                "conditions": [
                    condition("Degraded", "False", "AsExpected"),
                    condition("Ready", "True", "AllNodesJoined"),
                    condition("Progressing", "False", "Settled", "The cluster is as asked"),
                ],
            },
        }
        self.pods = {f"ads-{ordinal}": self._pod(ordinal) for ordinal in range(4)}
        self.reports = {f"ads-{ordinal}": self._report(ordinal) for ordinal in range(4)}
        self.backups: dict[str, str] = {}
        """Answers of nodes to `GET /backup`."""

        self.answers: dict[str, Any] = {
            f"{CORE}/events": {"items": [self._event("ads-1"), self._event("adsorb-1")]},
            f"{CORE}/secrets": {
                "items": [
                    {
                        "metadata": {"name": "ads-token"},
                        # The token in base64, as the API server has it.
                        "data": {"token": "NWQwZg==", "long": "c2VjcmV0LXdvcmQ="},
                    }
                ]
            },
            f"{CORE}/resourcequotas": {"items": []},
            f"{CORE}/persistentvolumeclaims": {"items": []},
            "/api/v1/nodes": 'Error from server (Forbidden): nodes is forbidden: User "u"',
            "/api/v1/pods": {"items": []},
            "/version": {"gitVersion": "v1.36.3"},
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            "/partisanclusters.partisan.dev": {"metadata": {"name": "definition"}},
        }
        for kind, group in _CHILDREN.items():
            self.answers[f"{group}/namespaces/{NAMESPACE}/{kind}"] = {"items": []}

    @property
    def status(self) -> Json:
        """The cluster's status, which tests change."""
        status: Json = self.cluster["status"]
        return status

    def set_condition(self, *claim: str) -> None:
        """Replace the condition of that type."""
        kept = [entry for entry in self.status["conditions"] if entry["type"] != claim[0]]
        self.status["conditions"] = [*kept, condition(*claim)]

    def context(self) -> Context:
        """Return a context whose output a test can read."""
        return Context(self, NAMESPACE, io.StringIO(), lambda: NOW)

    def run(self, arguments: Sequence[str], *, given: str = "") -> str:
        self.commands.append(list(arguments))
        match list(arguments):
            case ["create", *options]:
                if self.refusal:
                    raise error_in(self.refusal)
                self._create(json.loads(given), options)
                return ""
            case ["get", "--raw", url, *_]:
                answer = self._answer(urlsplit(url).path)
                return answer if isinstance(answer, str) else json.dumps(answer)
            case ["patch", _, _, *options]:
                return json.dumps(self._patched(options))
            case ["logs", *_]:
                return self.log
            case ["config", *_]:
                return NAMESPACE
        raise AssertionError(f"no recording of {arguments}")

    def stream(self, arguments: Sequence[str]) -> Iterator[str]:
        self.commands.append(list(arguments))
        yield from self.log.splitlines()

    def interact(self, arguments: Sequence[str]) -> int:
        self.commands.append(list(arguments))
        return 3

    @contextmanager
    def pipe(self, arguments: Sequence[str]) -> Iterator[Pipe]:
        self.commands.append(list(arguments))
        answers = deque(self.console)
        lines: deque[str] = deque()

        def send(line: str) -> None:
            self.sent.append(line)
            lines.extend(answers.popleft().splitlines() if answers else [])

        def receive() -> str:
            if not lines:
                raise error_in('Error from server (Forbidden): cannot create "pods/exec"')
            return lines.popleft()

        yield Pipe(send, receive)

    def _answer(self, path: str) -> Any:
        if path == CLUSTERS:
            answer = self.answers.get(path, {"items": [self.cluster]})
        elif path == f"{CLUSTERS}/ads":
            answer = self.cluster
        elif path == f"{CORE}/pods":
            answer = {"items": list(self.pods.values())}
        elif path.endswith("/log"):
            return f"2026-01-01T00:00:00Z started with {TOKEN} and secret-word\n"
        elif path.endswith("/proxy/metrics"):
            return "partisan_overlay_joined 1\n"
        elif path.endswith("/proxy/status"):
            node = path.split(":")[1]
            answer = self.reports.get(node, "Error from server (ServiceUnavailable): no route")
        elif path.endswith("/proxy/backup"):
            node = path.split(":")[1]
            answer = self.backups.get(node, "Error from server (NotFound): the server could not")
            if not answer.startswith("Error"):
                return answer
        elif path.startswith(f"{CORE}/pods/"):
            answer = self.pods.get(path.rpartition("/")[2])
        else:
            answer = self.answers.get(path)
        if answer is None:
            answer = "Error from server (NotFound): there is no such thing"
        if isinstance(answer, str):
            raise error_in(answer)
        return answer

    def _create(self, manifest: Json, options: Sequence[str]) -> None:
        kinds, name = f"{manifest['kind'].lower()}s", manifest["metadata"]["name"]
        if f"{CORE}/{kinds}/{name}" in self.answers:
            raise error_in(
                'Error from server (AlreadyExists): error when creating "STDIN":'
                f' {kinds} "{name}" already exists'
            )
        if "--dry-run=server" not in options:
            self.created.append(manifest)

    def _patched(self, options: Sequence[str]) -> Json:
        if self.refusal:
            raise error_in(self.refusal)
        (text,) = (o.removeprefix("--patch=") for o in options if o.startswith("--patch="))
        patch: Json = json.loads(text)
        if "--dry-run=server" not in options:
            self.patches.append(patch)
        spec = {**self.cluster["spec"]}
        for key, value in patch["spec"].items():
            spec[key] = _merged(spec.get(key), value)
        return {**self.cluster, "spec": spec}

    def _pod(self, ordinal: int) -> Json:
        return {
            "metadata": {
                "name": f"ads-{ordinal}",
                "namespace": NAMESPACE,
                "uid": f"uid-{ordinal}",
                "labels": {"partisan.dev/cluster": "ads"},
                "creationTimestamp": "2026-01-01T00:00:01Z",
            },
            "spec": {
                "nodeName": "machine-1",
                "containers": [
                    {"name": "node", "image": "node:1", "env": [{"name": "X", "value": "y"}]}
                ],
            },
            "status": {
                "phase": "Running",
                "podIP": f"10.0.0.{ordinal}",
                "conditions": [{"type": "Ready", "status": "True"}],
                "containerStatuses": [{"name": "node", "restartCount": 1 if ordinal == 2 else 0}],
            },
        }

    def _report(self, ordinal: int) -> Json:
        ring = [f"ads-{(ordinal + 1) % 4}", f"ads-{(ordinal - 1) % 4}"]
        return {
            "node": f"ads-{ordinal}",
            "incarnation": 7,
            "version": "0.1.0",
            "otp": "25",
            "uptime_seconds": 75.0,
            "memory_bytes": 21_000_000,
            "revision": "9f31c2",
            "overlay": {"kind": "hyparview", "joined": True, "active": ring, "passive": ["ads-9"]},
            "channels": {"default": {"sent_messages": 10, "sent_bytes": 2000}},
            "workload": None,
        }

    def _event(self, name: str) -> Json:
        return {
            "type": "Warning",
            "reason": "Unhealthy",
            "message": "not ready\nyet",
            "lastTimestamp": "2026-01-01T00:00:02Z",
            "involvedObject": {"kind": "Pod", "name": name},
        }


def _merged(live: Any, patch: Any) -> Any:
    """Return a value with a JSON merge patch applied."""
    if not isinstance(patch, dict):
        return patch
    result = dict(live) if isinstance(live, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key), value)
    return result


def run(kubectl: FakeKubectl, *words: str, **settings: Any) -> tuple[int, str]:
    """Run a command line of the plugin; return the exit status and the output."""
    arguments, context = parser.build().parse_args(words), kubectl.context()
    status: int = arguments.run(context, arguments, **settings)
    return status, written(context)


def written(context: Context) -> str:
    """Return what a command wrote."""
    assert isinstance(context.out, io.StringIO)
    return context.out.getvalue()
