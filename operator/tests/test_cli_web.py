"""`web`: the way of the user's token, and the port on this host that sends it."""

import http.client
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from urllib.parse import urlsplit

import pytest

from fake_kubectl import NAMESPACE, FakeKubectl, Json
from partisan_operator.cli import main, parser
from partisan_operator.cli.access import CommandError
from partisan_operator.cli.commands import web
from partisan_operator.cli.credential import bearer_token
from partisan_operator.cli.local_page import LocalPage

SERVICE: Json = {
    "metadata": {"name": "op-console", "namespace": "system"},
    "spec": {"ports": [{"port": 8090}]},
}


class Operator(ThreadingHTTPServer):
    """The page in the cluster, behind a port-forward."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.more = Event()


class Answer(BaseHTTPRequestHandler):
    """Records requests, and answers with a stream."""

    server: Operator

    def do_GET(self) -> None:
        self.server.requests.append((self.path, dict(self.headers.items())))
        self.send_response(401 if self.path == "/refused" else 200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Security-Policy", "default-src 'none'")
        self.send_header("Set-Cookie", "foreign=1")
        self.end_headers()
        self.wfile.write(b"first")
        if self.path == "/stream":
            self.server.more.wait()
            self.wfile.write(b"second")

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def operator() -> Iterator[Operator]:
    server = Operator()
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.more.set()
    server.shutdown()
    server.server_close()


@pytest.fixture
def page(operator: Operator) -> Iterator[LocalPage]:
    server = LocalPage(operator.server_port, "secret-token")
    Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def get(page: LocalPage, path: str, **headers: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", page.server_port)
    connection.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    return connection.getresponse()


def enter(page: LocalPage) -> str:
    """Open the page as a browser does; return its cookie."""
    url = urlsplit(page.url())
    answer = get(page, f"{url.path}?{url.query}")
    assert (answer.status, answer.getheader("Location")) == (303, "/")
    cookie = answer.getheader("Set-Cookie") or ""
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert "secret-token" not in cookie
    return cookie.partition(";")[0]


def test_the_token_is_added_on_the_way_and_is_in_no_url(
    page: LocalPage, operator: Operator
) -> None:
    cookie = enter(page)
    answer = get(page, "/stream?a=b", Cookie=cookie, Last_Event_ID="7", X_Other="x")
    assert answer.read() == b"first"
    path, headers = operator.requests[-1]
    assert path == "/stream?a=b"
    assert headers["Authorization"] == "Bearer secret-token"
    assert headers["Last-Event-ID"] == "7"
    assert "Cookie" not in headers
    assert "X-Other" not in headers
    assert answer.getheader("Content-Security-Policy") == "default-src 'none'"
    assert answer.getheader("Set-Cookie") is None
    assert "secret-token" not in page.url()


def test_an_answer_is_passed_on_as_it_comes(page: LocalPage, operator: Operator) -> None:
    answer = get(page, "/stream", Cookie=enter(page))
    assert answer.read(5) == b"first"
    operator.more.set()
    assert answer.read() == b"second"
    assert get(page, "/refused", Cookie=enter_again(page)).status == 401


def enter_again(page: LocalPage) -> str:
    return f"{page.cookie}={page.session}"


def test_the_key_opens_once_and_nothing_else_does(page: LocalPage, operator: Operator) -> None:
    url = urlsplit(page.url())
    once = f"{url.path}?{url.query}"
    cookie = enter(page)
    assert get(page, once).status == 403
    assert get(page, "/").status == 403
    assert get(page, "/?key=").status == 403
    assert get(page, "/", Cookie=f"{page.cookie}=x").status == 403
    assert get(page, "/", Cookie=";;=;").status == 403
    assert get(page, "/", Cookie=f"{page.cookie}=\xe9").status == 403
    assert get(page, "/?key=%C3%A9").status == 403
    # A foreign name that leads to this host.
    assert get(page, "/", Cookie=cookie, Host="evil.example").status == 403
    assert operator.requests == []


@pytest.mark.parametrize("path", [b"http://[", b"/\xe9"])
def test_a_path_that_is_none_is_refused(
    page: LocalPage, capsys: pytest.CaptureFixture[str], path: bytes
) -> None:
    host = f"Host: 127.0.0.1:{page.server_port}\r\nCookie: {enter(page)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", page.server_port)) as connection:
        connection.sendall(b"GET " + path + b" HTTP/1.1\r\n" + host.encode())
        assert connection.recv(12) == b"HTTP/1.0 400"
    assert capsys.readouterr().err == ""


def test_a_browser_that_goes_away_leaves_the_terminal_alone(
    page: LocalPage, capsys: pytest.CaptureFixture[str]
) -> None:
    for error, shown in (
        (ConnectionResetError(), False),
        (BrokenPipeError(), False),
        (KeyError(), True),
    ):
        try:
            raise error
        except Exception:
            page.handle_error(None, ("127.0.0.1", 1))
        assert (capsys.readouterr().err != "") == shown


def test_the_first_request_leads_to_no_other_host(page: LocalPage) -> None:
    query = urlsplit(page.url()).query
    answer = get(page, f"//evil.example/?{query}")
    assert answer.getheader("Location") in ("/evil.example/", "/")


class WebKubectl(FakeKubectl):
    """A kubectl with a user, and an operator behind a port-forward."""

    def __init__(self) -> None:
        super().__init__()
        self.user: Json = {"token": "mine"}
        self.port = 0
        self.answers["/api/v1/namespaces/partisan-system/services"] = {"items": [SERVICE]}
        self.answers["/api/v1/namespaces/mine/services"] = {"items": [SERVICE]}

    def run(self, arguments: Sequence[str], *, given: str = "") -> str:
        match list(arguments):
            case ["create", "token", account, namespace]:
                return f"token of {account} {namespace}\n"
            case ["config", "view", "--minify", "--raw", "--output=json"]:
                return json.dumps({"users": [{"name": "me", "user": self.user}]})
        return super().run(arguments, given=given)

    def stream(self, arguments: Sequence[str]) -> Iterator[str]:
        self.commands.append(list(arguments))
        yield f"Forwarding from 127.0.0.1:{self.port} -> 8090"
        yield "Handling connection for 8090"


def start(kubectl: FakeKubectl, *words: str) -> list[str]:
    """Run `web`, whose port-forward ends at once; return the opened URLs."""
    opened: list[str] = []
    arguments, context = parser.build().parse_args(["web", *words]), kubectl.context()
    with pytest.raises(CommandError, match="has ended"):
        web.run(context, arguments, opened.append)
    return opened


def test_the_page_is_opened_through_a_port_forward() -> None:
    kubectl = WebKubectl()
    (url,) = start(kubectl, "ads")
    assert url.startswith("http://127.0.0.1:")
    assert url.endswith(f"#{NAMESPACE}/ads")
    assert "mine" not in url
    assert kubectl.commands[-1] == [
        "port-forward",
        "--namespace=system",
        "--address=127.0.0.1",
        "service/op-console",
        ":8090",
    ]
    assert start(kubectl, "--no-open", "--operator-namespace", "mine") == []


def test_the_token_goes_to_no_service_of_another_namespace() -> None:
    kubectl = WebKubectl()
    kubectl.answers = {
        "/api/v1/services": {"items": [SERVICE]},
        "/api/v1/namespaces/partisan-system/services": {"items": []},
    }
    with pytest.raises(CommandError, match="partisan-system"):
        web.run(kubectl.context(), parser.build().parse_args(["web"]))
    assert all("port-forward" not in command for command in kubectl.commands)


def test_a_termination_ends_the_port_forward_too(tmp_path: Path) -> None:
    kubectl, forwarding = tmp_path / "kubectl", tmp_path / "pid"
    kubectl.write_text(
        "#!/bin/sh\n"
        'case "$*" in\n'
        f"    *services*) echo '{json.dumps({'items': [SERVICE]})}' ;;\n"
        "    create*) echo a-token ;;\n"
        f"    port-forward*) echo $$ > {forwarding}\n"
        '        echo "Forwarding from 127.0.0.1:1 -> 8090"\n'
        "        exec sleep 600 ;;\n"
        "esac\n"
    )
    kubectl.chmod(0o755)
    words = ["--namespace=ns", "web", "--no-open", "--service-account=viewer"]
    with subprocess.Popen(
        [sys.executable, "-m", main.__name__, *words],
        env={
            **os.environ,
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert "The live page" in process.stdout.readline()
        process.terminate()
    assert process.returncode == main.INTERRUPTED
    with pytest.raises(ProcessLookupError):
        os.kill(int(forwarding.read_text()), 0)


@pytest.mark.parametrize(
    ("services", "message"),
    [
        ({"items": []}, "partisan-system: set console.enabled .* --operator-namespace"),
        ({"items": [SERVICE, SERVICE]}, "several Services .* partisan-system .*op-console"),
    ],
)
def test_a_missing_operator_is_one_line_with_the_remedy(services: Json, message: str) -> None:
    kubectl = WebKubectl()
    kubectl.answers["/api/v1/namespaces/partisan-system/services"] = services
    arguments = parser.build().parse_args(["web"])
    with pytest.raises(CommandError, match=message):
        web.run(kubectl.context(), arguments)


def test_the_token_is_that_of_the_kubeconfig(tmp_path: Path) -> None:
    kubectl, program = WebKubectl(), tmp_path / "login"
    assert bearer_token(kubectl, "ns") == "mine"
    assert bearer_token(kubectl, "ns", "viewer") == "token of viewer --namespace=ns"
    (tmp_path / "token").write_text("from a file\n")
    kubectl.user = {"tokenFile": str(tmp_path / "token")}
    assert bearer_token(kubectl, "ns") == "from a file"
    program.write_text(
        '#!/bin/sh\ncase "$KUBERNETES_EXEC_INFO" in *ExecCredential*) ;; *) exit 1 ;; esac\n'
        'echo "{\\"status\\": {\\"token\\": \\"$1 $GREETING\\"}}"\n'
    )
    program.chmod(0o755)
    kubectl.user = {
        "exec": {
            "command": str(program),
            "args": ["from a plugin"],
            "env": [{"name": "GREETING", "value": "hello"}],
        }
    }
    assert bearer_token(kubectl, "ns") == "from a plugin hello"


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ({"client-certificate-data": "x"}, "--service-account"),
        ({"tokenFile": "/none/such"}, "token file"),
        ({"tokenFile": sys.executable}, "token file"),
        ({"exec": {"command": "/none/such"}}, "gave no token"),
        ({"exec": {"command": "true"}}, "gave no token"),
        ({"exec": {"command": "false"}}, "gave no token"),
        ({"exec": {"command": "echo", "args": ["null"]}}, "gave no token"),
        ({"exec": {"command": "echo", "args": ["[]"]}}, "gave no token"),
        ({"exec": {"command": "echo", "args": ['{"status": null}']}}, "gave no token"),
    ],
)
def test_a_user_without_a_token_learns_what_to_do(user: Json, message: str) -> None:
    kubectl = WebKubectl()
    kubectl.user = user
    with pytest.raises(CommandError, match=message):
        bearer_token(kubectl, "ns")
