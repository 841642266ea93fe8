"""`processes` and `attach` of the plugin: what goes over a node's console."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from fake_kubectl import FakeKubectl, run
from partisan_operator.cli.access import CommandError
from partisan_operator.cli.kubectl import Kubectl, KubectlError

GREETING = "Eshell V15.2.7 (press Ctrl+G to abort, type help(). for help)\n1> \n{}"
PROCESS = {
    "pid": "<0.99.0>",
    "name": "adcounter",
    "current": "gen_server:loop/7",
    "memory": 21_600,
    "reductions": 12_345,
    "messages": 3,
}
ANSWER = json.dumps({"processes": 143, "run_queue": 1, "top": [PROCESS]})


def test_the_processes_of_a_node_are_a_table(kubectl: FakeKubectl) -> None:
    kubectl.console = [GREETING, f"\n{ANSWER}"]
    status, text = run(kubectl, "processes", "ads-2", "--sort", "messages", "--top", "5")
    assert status == 0
    title, header, row = text.splitlines()
    assert title == "01:00:00 UTC  ads-2: 143 processes, 1 ready to run; by messages"
    assert re.split("  +", header) == [
        *("PID", "NAME OR START", "IN"),
        *("MEMORY", "REDUCTIONS/S", "MESSAGES"),
    ]
    assert re.split("  +", row) == [
        *("<0.99.0>", "adcounter", "gen_server:loop/7"),
        *("21.6 kB", "12,345", "3"),
    ]
    assert kubectl.sent == ["node_commands:serve().", "processes messages 5 1000"]


def test_the_console_is_that_of_the_nodes_container(kubectl: FakeKubectl) -> None:
    kubectl.console = [GREETING, ANSWER]
    run(kubectl, "processes", "ads-2")
    assert kubectl.commands[-1] == [
        *("exec", "--stdin", "--namespace=staging", "ads-2", "--container=node"),
        *("--", "/opt/partisan/bin/partisan_node", "remote_console"),
    ]


def test_processes_are_watched_in_one_session(kubectl: FakeKubectl) -> None:
    kubectl.console = [GREETING, ANSWER, ANSWER]
    words = ("processes", "ads-2", "--watch", "--interval", "0.5")
    # The recorded console ends after two answers.
    with pytest.raises(KubectlError, match="pods/exec"):
        run(kubectl, *words)
    assert kubectl.sent[1:] == ["processes memory 20 500"] * 3
    assert len([words for words in kubectl.commands if words[0] == "exec"]) == 1


def test_processes_are_json_on_request(kubectl: FakeKubectl) -> None:
    kubectl.console = [GREETING, ANSWER]
    _, text = run(kubectl, "processes", "ads-2", "-o", "json")
    assert json.loads(text) == {"node": "ads-2", **json.loads(ANSWER)}


@pytest.mark.parametrize("option", [("--top", "0"), ("--interval", "0")])
def test_options_out_of_range_are_refused(kubectl: FakeKubectl, option: tuple[str, str]) -> None:
    with pytest.raises(CommandError, match="--top must be at least 1"):
        run(kubectl, "processes", "ads-2", *option)
    assert kubectl.sent == []


@pytest.mark.parametrize(
    "answer", [{}, {"top": [{}]}, {"top": 1}, {"top": [PROCESS | {"memory": ""}]}]
)
def test_an_answer_in_another_form_names_the_fix(
    kubectl: FakeKubectl, answer: dict[str, object]
) -> None:
    kubectl.console = [GREETING, json.dumps(answer)]
    with pytest.raises(CommandError, match="ads-2 answers in another form than this plugin reads"):
        run(kubectl, "processes", "ads-2")


def test_an_error_of_the_node_is_that_of_the_command(kubectl: FakeKubectl) -> None:
    kubectl.console = [GREETING, '{"error":"no such command"}']
    with pytest.raises(CommandError, match="ads-2: no such command"):
        run(kubectl, "processes", "ads-2")


def test_terms_of_erlang_are_no_answer(kubectl: FakeKubectl) -> None:
    kubectl.console = [GREETING, f'{{"init terminating in do_boot",{{badarg,[]}}}}\n{ANSWER}']
    assert run(kubectl, "processes", "ads-2")[0] == 0
    kubectl.console = ['{"init terminating in do_boot",{badarg,[]}}']
    with pytest.raises(KubectlError):
        run(kubectl, "processes", "ads-2")


def test_an_image_without_the_commands_is_named(kubectl: FakeKubectl) -> None:
    kubectl.console = [
        "Eshell V13.1.5  (abort with ^G)\n"
        "1> ** exception error: undefined function node_commands:serve/0"
    ]
    with pytest.raises(CommandError, match="the image of ads-2 is older than this plugin"):
        run(kubectl, "processes", "ads-2")


def test_a_missing_right_is_reported(kubectl: FakeKubectl) -> None:
    with pytest.raises(KubectlError, match="pods/exec"):
        run(kubectl, "processes", "ads-2")


@pytest.mark.parametrize("terminal", [True, False])
def test_a_shell_is_attached_to_the_terminal_or_the_input(
    kubectl: FakeKubectl, monkeypatch: pytest.MonkeyPatch, *, terminal: bool
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: terminal))
    status, text = run(kubectl, "attach", "ads-2")
    assert status == 3
    assert ("--tty" in kubectl.commands[-1]) == terminal
    assert ("q(). and init:stop(). end the node" in text) == terminal
    assert kubectl.commands[-1][-1] == "remote_console"


def test_a_pod_that_is_no_node_is_not_attached_to(kubectl: FakeKubectl) -> None:
    with pytest.raises(CommandError, match="there is no node 'web-1'"):
        run(kubectl, "processes", "web-1")
    assert kubectl.sent == []


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the file of a kubectl on the PATH, which a test writes."""
    program = tmp_path / "kubectl"
    program.touch(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    return program


def test_a_program_is_written_to_and_read_from(program: Path) -> None:
    program.write_text('#!/bin/sh\nread line; echo "$line, $1"; echo "error: gone" >&2; exit 1\n')
    with Kubectl().pipe(["exec"]) as pipe:
        pipe.send("hello")
        assert pipe.receive() == "hello, exec"
        with pytest.raises(KubectlError, match="gone"):
            pipe.receive()


def test_the_end_of_a_block_is_the_end_of_the_input(program: Path, tmp_path: Path) -> None:
    program.write_text(f"#!/bin/sh\nread line; echo $line; cat; echo ended > {tmp_path}/log\n")
    with Kubectl().pipe(["exec"]) as pipe:
        pipe.send("hello")
        assert pipe.receive() == "hello"
    assert (tmp_path / "log").read_text() == "ended\n"


def test_a_program_that_reads_nothing_is_an_error_of_its_own(program: Path) -> None:
    program.write_text('#!/bin/sh\nexec <&-; echo "error: no such pod" >&2; exit 1\n')
    # More than the pipe holds.
    with pytest.raises(KubectlError, match="no such pod"), Kubectl().pipe(["exec"]) as pipe:
        pipe.send("x" * 1_000_000)
