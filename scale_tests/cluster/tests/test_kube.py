"""The client of the API server, against a server of its own."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
import yaml

from scale_tests.cluster.kube import ApiError, Cluster, holds, manifest


class _Handler(BaseHTTPRequestHandler):
    """Answers with the request's Authorization header."""

    def do_GET(self) -> None:
        answer = self.headers.get("Authorization", "").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Writes nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_the_token_of_a_kubeconfig_is_sent(address: str, tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "a", "cluster": {"server": address}}],
        "users": [{"name": "a", "user": {"token": "secret"}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "current-context": "a",
    }
    file.write_text(yaml.safe_dump(content))
    assert Cluster(file).text("version") == "Bearer secret"


@pytest.mark.parametrize("content", [None, "", "clusters: [", "kind: Config"])
def test_a_kubeconfig_that_cannot_be_used_is_named(tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "kubeconfig"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ApiError, match=f"KUBECONFIG: {file} cannot be used"):
        Cluster(file)


def test_a_condition_holds_when_its_status_is_true() -> None:
    assert not holds(manifest("a"), "Ready")
    assert holds({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, "Ready")
    assert not holds({"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, "Ready")
