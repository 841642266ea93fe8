"""The parts of the plugin below its commands."""

import itertools
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_kubectl import FakeKubectl, Json
from partisan_operator import __version__
from partisan_operator.cli import main as entry
from partisan_operator.cli import parser
from partisan_operator.cli.access import CommandError, Context
from partisan_operator.cli.catalogue import COMMANDS, Command
from partisan_operator.cli.commands import overlay
from partisan_operator.cli.completion import complete
from partisan_operator.cli.kubectl import Kubectl, KubectlError, error_in
from partisan_operator.cli.layout import place
from partisan_operator.cli.picture import COLUMNS, LINES, braille
from partisan_operator.cli.redaction import Redactor, without_secrets
from partisan_operator.cli.text import duration, size, table
from partisan_operator.models.overlay import OverlayKind


@pytest.mark.parametrize(
    ("output", "reason", "message"),
    [
        ('Error from server (NotFound): pods "a" not found\n', "NotFound", 'pods "a" not found'),
        ("Error from server: no endpoints", "", "no endpoints"),
        ("Warning: old\nError from server (Forbidden): no", "Forbidden", "no"),
        ('The PartisanCluster "ads" is invalid: \n spec.x: bad', "Invalid", "spec.x: bad"),
        ("error: stat /f: no such file", "", "stat /f: no such file"),
        ("", "", "kubectl failed without a message"),
    ],
)
def test_errors_of_kubectl_are_one_line(output: str, reason: str, message: str) -> None:
    error = error_in(output)
    assert (error.reason, str(error)) == (reason, message)


def test_a_missing_kubectl_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(KubectlError, match="not on the PATH"):
        Kubectl().run(["version"])


def test_kubectl_gets_the_context_and_its_error_is_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "kubectl"
    program.write_text('#!/bin/sh\necho "Error from server (Forbidden): not for $*" >&2; exit 1\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert entry.main(["status", "ads", "-n", "x", "--context", "c"]) == 1
    error = capsys.readouterr().err
    assert error.startswith("kubectl partisan: not for get --raw")
    assert "--context=c" in error
    assert error.count("\n") == 1


def program(directory: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a kubectl on the PATH that is this script."""
    path = directory / "kubectl"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:/bin:/usr/bin")


def test_in_a_pod_without_a_kubeconfig_the_namespace_is_the_pod_s(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program(tmp_path, monkeypatch, "echo 'error: current-context must exist to minify' >&2; exit 1")
    file = tmp_path / "namespace"
    monkeypatch.delenv("POD_NAMESPACE", raising=False)
    monkeypatch.setattr("partisan_operator.cli.kubectl._POD_NAMESPACE", file)
    with pytest.raises(KubectlError, match="current-context"):
        Kubectl().namespace()
    file.write_text("staging")
    assert Kubectl().namespace() == "staging"
    monkeypatch.setenv("POD_NAMESPACE", "other")
    assert Kubectl().namespace() == "other"
    with pytest.raises(KubectlError, match="current-context"):
        Kubectl(context="absent").namespace()


@pytest.mark.parametrize("answer", ["", "[]", "null", "{", "[" * 100_000])
def test_an_answer_that_is_no_object_is_an_error(
    monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    monkeypatch.setattr(Kubectl, "run", lambda *_, **__: answer)
    with pytest.raises(KubectlError, match="/status did not answer with a JSON object"):
        Kubectl().get("status")


@pytest.mark.parametrize("words", [["status"], ["pause"], ["describe", "node"], ["logs"]])
@pytest.mark.parametrize("name", ["", "a/b", "../pods", "a?b", "A", "\udcff"])
def test_what_is_no_name_is_refused_before_anything_is_asked(words: list[str], name: str) -> None:
    kubectl = FakeKubectl()
    arguments = parser.build().parse_args([*words, name])
    with pytest.raises(CommandError):
        arguments.run(kubectl.context(), arguments)
    assert kubectl.commands == []


def test_what_is_no_namespace_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert entry.main(["status", "ads", "-n", "a/b"]) == 1
    assert "'a/b' is not the name of an object" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        "top ads --interval -1",
        "top ads --interval nan",
        "top ads --interval 1e300",
        "top ads --count -1",
        "rollout status ads --timeout nan",
        "processes ads-0 --interval inf",
    ],
)
def test_a_number_out_of_range_is_an_error_of_use(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parser.build().parse_args(words.split())
    assert ended.value.code == 2
    assert "is not a number" in capsys.readouterr().err


def plugin(*words: str, encoding: str, script: str = "") -> subprocess.CompletedProcess[bytes]:
    """Run the plugin as a process, in a shell that redirects its output."""
    command = [sys.executable, "-c", _RECORDED, *words]
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONPATH": ":".join(sys.path)}
    return subprocess.run(
        ["sh", "-c", script or 'exec "$@"', "sh", *command],
        env=environment,
        capture_output=True,
        check=False,
    )


_RECORDED = """
import sys
from fake_kubectl import FakeKubectl
from partisan_operator.cli import main
main.Kubectl = lambda **_: FakeKubectl()
sys.exit(main.main())
"""


def test_a_terminal_of_another_encoding_shows_what_it_can() -> None:
    done = plugin("graph", "ads", encoding="latin-1")
    assert done.returncode == 0
    assert b"ads-0" in done.stdout
    assert b"?" in done.stdout
    assert done.stderr == b""


def test_output_that_cannot_be_written_is_an_error_of_one_line() -> None:
    done = plugin("status", "ads", encoding="utf-8", script='exec "$@" > /dev/full')
    assert (done.returncode, done.stderr.count(b"\n")) == (1, 1)
    assert b"No space left" in done.stderr


def test_options_may_stand_before_the_command_or_after_it() -> None:
    for words in (["-n", "x", "status", "ads"], ["status", "ads", "-n", "x"]):
        arguments = parser.build().parse_args(words)
        assert (arguments.namespace, arguments.context) == ("x", "")


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command.words))
def test_every_command_has_help_and_its_examples_can_be_typed(
    command: Command, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parser.build().parse_args([*command.words, "--help"])
    text = capsys.readouterr().out
    assert command.examples
    for example in command.examples:
        assert f"kubectl partisan {example}" in text
        words = example.partition(" | ")[0].split()
        assert parser.build().parse_args(words).run is command.run


@pytest.mark.parametrize(
    ("line", "choices"),
    [
        ("ov", ["overlay", ":4"]),
        ("rollout ", ["status", "pause", "resume", "undo", "restart", ":4"]),
        ("status ", ["ads", ":4"]),
        ("-n staging status a", ["ads", ":4"]),
        ("status ads ", [":4"]),
        ("describe node ads-3", ["ads-3", ":4"]),
        ("logs ads --node ads-1", ["ads-1", ":4"]),
        ("attach ads-2", ["ads-2", ":4"]),
        ("processes ads-2 --sort me", ["memory", "messages", ":4"]),
        ("dev a", ["ads", ":4"]),
        ("graph ads -o s", ["svg", ":4"]),
        ("graph ads -o svg", ["svg", ":4"]),
        ("overlay set ads Hi", ["HiScamp", ":4"]),
        ("overlay set ads XBot sc", ["scan=", ":6"]),
        ("overlay set ads XBot scan=3 unb", ["unbiased=", ":6"]),
        ("overlay set ads Nonsense ", [":4"]),
        ("nonsense ", [":4"]),
        ("-n ", [":4"]),
        ("logs --node ads-3", ["ads-3", ":4"]),
    ],
)
def test_completion(line: str, choices: list[str]) -> None:
    def connect(_: dict[str, str]) -> Context:
        return FakeKubectl().context()

    found = complete(line.split(" "), connect)
    assert [choice.partition("\t")[0] for choice in found] == choices


def test_completion_of_options_explains_them() -> None:
    found = complete(["must-gather", "ads", "--f"], lambda _: FakeKubectl().context())
    assert found == ["--file\tthe bundle (its default name has the time)", ":4"]


def test_completion_passes_the_options_on_and_swallows_errors() -> None:
    seen: list[dict[str, str]] = []

    def connect(options: dict[str, str]) -> Context:
        seen.append(options)
        raise KubectlError("", "unreachable")

    assert complete(["-n", "x", "--context=c", "status", ""], connect) == [":4"]
    assert seen == [{"--namespace": "x", "--context": "c"}]


def test_every_overlay_can_be_set() -> None:
    for kind in OverlayKind:
        required = ["module=ring"] if kind is OverlayKind.CUSTOM else []
        patch = overlay.overlay_patch(kind, required)
        assert patch["kind"] == kind
        assert overlay.parameter_names(kind)
        assert len(patch) == len(OverlayKind) + len(required)


def test_values_are_read_as_json_or_text() -> None:
    patch = overlay.overlay_patch(OverlayKind.STATIC, ["edges=[[0, 1], [1, 2]]"])
    assert patch["static"] == {"edges": [[0, 1], [1, 2]]}
    patch = overlay.overlay_patch(OverlayKind.FULL_MESH, ["allowLarge=true"])
    assert patch["fullMesh"] == {"allowLarge": True}


_GRAPHS = st.integers(1, 40).flatmap(
    lambda count: st.tuples(
        st.just([f"ads-{ordinal}" for ordinal in range(count)]),
        st.sets(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))),
    )
)


@given(_GRAPHS)
def test_every_graph_has_a_place_for_each_node_and_a_picture(
    graph: tuple[list[str], set[tuple[int, int]]],
) -> None:
    nodes, pairs = graph
    links = {(nodes[left], nodes[right]) for left, right in pairs if left != right}
    positions = place(nodes, links)
    assert list(positions) == nodes
    for x, y in positions.values():
        assert 0 <= x <= 1
        assert 0 <= y <= 1
    assert place(nodes, sorted(links)) == positions
    lines = braille(positions, links).split("\n")
    assert len(lines) == LINES
    assert max(map(len, lines)) <= COLUMNS


def test_neighbours_are_drawn_nearer_than_other_nodes() -> None:
    left, right = ([f"{side}-{ordinal}" for ordinal in range(6)] for side in ("left", "right"))
    links = [*itertools.combinations(left, 2), *itertools.combinations(right, 2)]
    spots = place([*left, *right], [*links, (left[0], right[0])])
    within = max(math.dist(spots[one], spots[other]) for one, other in links)
    assert within < min(math.dist(spots[one], spots[other]) for one in left[1:] for other in right)


def test_no_value_of_a_secret_is_left_in_any_form() -> None:
    secret: Json = {"kind": "Secret", "metadata": {}, "data": {"a": "aHVudGVyMjI=", "b": "/w=="}}
    redactor = Redactor([secret])
    assert redactor.text("hunter22 aHVudGVyMjI= hunter") == "REDACTED REDACTED hunter"


def test_text_in_the_form_of_a_secret_is_removed() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----"
    token = "0af1" * 16
    text = f"{key} Authorization: Bearer eyJhbGciOi.x-y token={token} sha256:{token}"
    assert Redactor().text(text) == (
        f"REDACTED Authorization: Bearer REDACTED token=REDACTED sha256:{token}"
    )


def test_objects_keep_their_keys_and_lose_values_that_are_secret() -> None:
    clean = without_secrets(
        {
            "kind": "Pod",
            "metadata": {
                "managedFields": [],
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "x", "a": "b"},
            },
            "spec": {"env": [{"name": "DB_PASSWORD", "value": "x"}, {"name": "A", "value": "y"}]},
        }
    )
    assert clean == {
        "kind": "Pod",
        "metadata": {"annotations": {"a": "b"}},
        "spec": {
            "env": [{"name": "DB_PASSWORD", "value": "REDACTED"}, {"name": "A", "value": "y"}]
        },
    }


def test_figures_are_written_for_people() -> None:
    assert [size(count) for count in (0, 999, 1000, 2.5e6, 7e12)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "2.5 MB",
        "7000.0 GB",
    ]
    assert [duration(seconds) for seconds in (0, 3600, 86_401)] == ["0s", "1h0m", "1d0h"]
    assert table([("a", "1"), ("bb", "22")], numbers=1) == "a    1\nbb  22"
    assert table([]) == ""


def test_the_version_is_that_of_the_operator(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parser.build().parse_args(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"kubectl partisan {__version__}\n"
