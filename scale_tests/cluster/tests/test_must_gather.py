"""The files that are saved when something goes wrong."""

import json
from pathlib import Path
from typing import Any

import yaml

from scale_tests.cluster.kube import ApiError, Cluster
from scale_tests.cluster.must_gather import must_gather

POD = {
    "metadata": {"name": "ads-0", "managedFields": [{}], "labels": {}},
    "spec": {
        "containers": [{"name": "node"}, {"name": "proxy"}],
        "initContainers": [{"name": "agent"}],
    },
    "status": {
        "containerStatuses": [{"name": "node", "restartCount": 1}, {"name": "proxy"}],
        "initContainerStatuses": [{"name": "agent", "restartCount": 2}],
    },
}
EVENT = {
    "lastTimestamp": "2026-01-01T00:00:00Z",
    "type": "Warning",
    "involvedObject": {"kind": "Pod", "name": "ads-0"},
    "reason": "Failed",
    "message": "no such image\n",
}


class Canned(Cluster):
    """An API server that knows one pod and one event, and refuses to show nodes."""

    def __init__(self) -> None:
        pass

    def request(self, method: str, path: str, **options: Any) -> bytes:
        if path == "api/v1/nodes":
            raise ApiError(403, "Forbidden", "nodes are not yours to see")
        if path.endswith("/log"):
            query = options["query"]
            return f"{query.get('container')} previous={query.get('previous')}\n".encode()
        if path.endswith("/events"):
            return json.dumps({"items": [EVENT]}).encode()
        if path.endswith("/pods"):
            return json.dumps({"items": [POD]}).encode()
        return b'{"items": []}'


def test_objects_events_logs_and_read_errors_are_saved(
    tmp_path: Path,
) -> None:
    must_gather(Canned(), "default", tmp_path)
    (pod,) = yaml.safe_load_all((tmp_path / "pods.yaml").read_text())
    assert pod["metadata"] == {"name": "ads-0", "labels": {}}
    assert (tmp_path / "events.txt").read_text() == (
        "2026-01-01T00:00:00Z Warning Pod/ads-0 Failed: no such image\n"
    )
    paths = [*tmp_path.glob("*.previous.log"), *tmp_path.glob("ads-0.log"), *tmp_path.glob("*/*")]
    logs = {str(path.relative_to(tmp_path)): path.read_text() for path in paths}
    assert logs == {
        "ads-0.log": "node previous=false\n",
        "ads-0.previous.log": "node previous=true\n",
        "ads-0/proxy.log": "proxy previous=false\n",
        "ads-0/agent.log": "agent previous=false\n",
        "ads-0/agent.previous.log": "agent previous=true\n",
    }
    assert {"persistentvolumeclaims.yaml", "persistentvolumes.yaml"} <= {
        path.name for path in tmp_path.iterdir()
    }
    assert (tmp_path / "errors.txt").read_text() == (
        "nodes.yaml: Forbidden: nodes are not yours to see\n"
    )


def test_no_secret_is_saved(tmp_path: Path) -> None:
    must_gather(Canned(), "default", tmp_path)
    assert not list(tmp_path.glob("*secret*"))
