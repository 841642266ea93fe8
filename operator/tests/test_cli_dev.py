"""`dev` of the plugin: from the sources to the nodes."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from fake_kubectl import FakeKubectl, run, written
from partisan_operator.cli import parser
from partisan_operator.cli.access import CommandError
from partisan_operator.cli.commands import dev
from partisan_operator.cli.kubectl import KubectlError
from partisan_operator.cli.project import project_in, sources

CODE = base64.b64encode(b"code").decode()
BUILD = ("--build", "mkdir -p ebin && cp chat.erl ebin/chat.beam", "--beams", "ebin/*.beam")


def loaded(*, old: int = 0, changed: bool = True) -> str:
    return json.dumps({"module": "chat", "loaded": changed, "old": old})


@pytest.fixture
def developing(kubectl: FakeKubectl) -> FakeKubectl:
    """Return a cluster whose nodes load a module each."""
    kubectl.cluster["spec"]["development"] = True
    kubectl.console = ["{}", loaded()]
    return kubectl


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    """Make an application of one module."""
    (tmp_path / "chat.erl").write_text("code")
    return tmp_path


def test_changed_modules_are_loaded_into_every_node(developing: FakeKubectl, chat: Path) -> None:
    status, text = run(developing, "dev", "ads", str(chat), *BUILD)
    assert status == 0
    assert text.startswith("chat: loaded on 4 nodes\n1 module on 4 nodes, ")
    assert sorted(developing.sent) == [f"load {CODE}"] * 4 + ["node_commands:serve()."] * 4
    attached = {words[3] for words in developing.commands if words[0] == "exec"}
    assert attached == {f"ads-{ordinal}" for ordinal in range(4)}
    assert developing.patches == []


def test_only_running_nodes_are_asked(developing: FakeKubectl, chat: Path) -> None:
    developing.pods["ads-3"]["status"]["phase"] = "Pending"
    _, text = run(developing, "dev", "ads", str(chat), *BUILD)
    assert "1 module on 3 nodes" in text
    for pod in developing.pods.values():
        pod["status"]["phase"] = "Pending"
    with pytest.raises(CommandError, match="no node of ads runs"):
        run(developing, "dev", "ads", str(chat), *BUILD)


def test_each_module_has_a_line_if_some_node_has_loaded_it() -> None:
    def answer(module: str, *, loaded: bool, old: int = 0) -> dict[str, Any]:
        return {"module": module, "loaded": loaded, "old": old}

    first = [answer("a", loaded=True, old=2), answer("b", loaded=False)]
    second = [answer("a", loaded=False), answer("b", loaded=False)]
    assert dev.outcome([first, second]) == [
        "a: loaded on 1 node; 2 processes still in the version before"
    ]
    assert dev.outcome([second, second]) == ["No module has changed"]


def test_a_cluster_that_is_not_for_development_is_left_alone(
    kubectl: FakeKubectl, chat: Path
) -> None:
    with pytest.raises(CommandError, match=r'"development": true.*never in production'):
        run(kubectl, "dev", "ads", str(chat), *BUILD)
    assert kubectl.sent == []
    assert not (chat / "ebin").exists()


def test_the_refusal_of_a_node_is_the_error(developing: FakeKubectl, chat: Path) -> None:
    developing.console = ["{}", '{"error":"hot code loading is off: set spec.development"}']
    with pytest.raises(CommandError, match=r"ads-\d: hot code loading is off"):
        run(developing, "dev", "ads", str(chat), *BUILD)


def test_a_build_that_fails_loads_nothing(developing: FakeKubectl, chat: Path) -> None:
    with pytest.raises(CommandError, match="'false' failed, its output is above"):
        run(developing, "dev", "ads", str(chat), "--build", "false", "--beams", "ebin/*.beam")
    with pytest.raises(CommandError, match=r"'true' left no file ebin/\*\.beam: set --beams"):
        run(developing, "dev", "ads", str(chat), "--build", "true", "--beams", "ebin/*.beam")
    with pytest.raises(CommandError, match=r"'/ebin/\*\.beam' is no pattern of files below"):
        run(developing, "dev", "ads", str(chat), "--build", "true", "--beams", "/ebin/*.beam")
    assert developing.sent == []


def test_changes_are_awaited_and_an_error_does_not_end_the_watch(
    developing: FakeKubectl, chat: Path
) -> None:
    source = chat / "chat.erl"

    def edit(_: float) -> None:
        if not source.exists():
            raise KeyboardInterrupt
        source.unlink()

    context = developing.context()
    arguments = parser.build().parse_args(["dev", "ads", str(chat), *BUILD, "--watch"])
    with pytest.raises(KeyboardInterrupt):
        dev.run(context, arguments, sleep=edit)
    text = written(context)
    assert text.count("chat: loaded on 4 nodes") == 1
    assert text.endswith("failed, its output is above\nWaiting for a change\n")


def test_an_image_is_built_pushed_and_rolled_out(kubectl: FakeKubectl, chat: Path) -> None:
    commands = ("--build", "echo built {image} > log", "--load", "echo pushed {image} >> log")
    status, text = run(kubectl, "dev", "ads", str(chat), "--image", "example.com/chat", *commands)
    image = "example.com/chat:dev-20260101010000"
    assert status == 0
    assert (chat / "log").read_text() == f"built {image}\npushed {image}\n"
    assert kubectl.patches == [{"spec": {"image": image}}]
    assert text.splitlines()[-1].startswith("Settled")
    assert kubectl.sent == []


def test_an_image_that_does_not_build_changes_nothing(kubectl: FakeKubectl, chat: Path) -> None:
    with pytest.raises(CommandError, match="'false' failed"):
        run(kubectl, "dev", "ads", str(chat), "--image", "example.com/chat", "--build", "false")
    assert kubectl.patches == []


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--image", "example.com:5000/chat:1"], "--image takes no tag"),
        (["--image", "chat", "--beams", "x"], "omit it with --image"),
        (["--load", "true"], "set --image"),
        ([], "no rebar.config and no mix.exs"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    developing: FakeKubectl, chat: Path, options: list[str], error: str
) -> None:
    with pytest.raises(CommandError, match=error):
        run(developing, "dev", "ads", str(chat), *options)
    with pytest.raises(CommandError, match="there is no directory"):
        run(developing, "dev", "ads", str(chat / "none"))


def test_a_right_that_is_missing_is_the_error(developing: FakeKubectl, chat: Path) -> None:
    developing.console = []
    with pytest.raises(KubectlError, match="pods/exec"):
        run(developing, "dev", "ads", str(chat), *BUILD)


@pytest.mark.parametrize(
    ("files", "build", "beams"),
    [
        (["rebar.config", "src/chat.app.src"], "rebar3 compile", ["_build/default/lib/chat"]),
        (
            ["rebar.config", "apps/a/src/a.app.src", "apps/b/src/b.app.src"],
            "rebar3 compile",
            ["_build/default/lib/a", "_build/default/lib/b"],
        ),
        (["mix.exs"], "mix compile", ["_build/dev/lib/chat"]),
        (["mix.exs", "apps/one/mix.exs"], "mix compile", ["_build/dev/lib/chat"] * 2),
    ],
)
def test_a_project_is_known_by_its_files(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: list[str],
    build: str,
    beams: list[str],
) -> None:
    monkeypatch.delenv("MIX_ENV", raising=False)
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("[app: :chat, version: 1]")
    found = project_in(tmp_path, build="", beams="")
    assert found.build == build
    assert list(found.beams) == [f"{entry}/ebin/*.beam" for entry in beams]
    assert project_in(tmp_path, build="make", beams="").build == "make"


def test_a_project_whose_text_is_not_utf_8_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MIX_ENV", raising=False)
    (tmp_path / "mix.exs").write_bytes(b"# \xe9\n[app: :chat]")
    assert project_in(tmp_path, build="", beams="").beams == ("_build/dev/lib/chat/ebin/*.beam",)


def test_sources_are_found_and_compiled_code_is_not(tmp_path: Path) -> None:
    for name in ("src/a.erl", "lib/a.ex", "Dockerfile", "_build/a.erl", ".git/a.erl", "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    found = {str(Path(name).relative_to(tmp_path)) for name in sources(tmp_path)}
    assert found == {"src/a.erl", "lib/a.ex", "Dockerfile"}
