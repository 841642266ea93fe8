"""Scripts are split into their simple commands."""

import pytest

from docs.tools.shell import Command, commands, typed


def words(script: str) -> list[list[str]]:
    return [list(command.words) for command in commands(script)]


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("make demo     # from nothing", [["make", "demo"]]),
        ("helm install x \\\n    --set a=b", [["helm", "install", "x", "--set", "a=b"]]),
        ("make a && make b | grep -c c; kill %?8080 &",
         [["make", "a"], ["make", "b"], ["grep", "-c", "c"], ["kill", "%?8080"]]),
        ("A=$(openssl rand 32) docker up", [["openssl", "rand", "32"], ["docker", "up"]]),
        ("until kubectl wait x 2>/dev/null; do\n    sleep 1\ndone",
         [["kubectl", "wait", "x"], ["sleep", "1"]]),
        ("(cd a && make b)", [["cd", "a"], ["make", "b"]]),
        ("curl -w '%{http_code}\\n' x </dev/null", [["curl", "-w", "%{http_code}\\n", "x"]]),
        ("kubectl patch -p '{\"a\":\n  1}'", [["kubectl", "patch", "-p", '{"a":\n  1}']]),
    ],
)  # fmt: skip
def test_commands_are_found(script: str, found: list[list[str]]) -> None:
    assert words(script) == found


def test_a_here_document_belongs_to_its_command() -> None:
    script = "kubectl apply -f - <<END\na: 1\nEND\nkubectl get a"
    assert list(commands(script)) == [
        Command(("kubectl", "apply", "-f", "-"), "a: 1\n"),
        Command(("kubectl", "get", "a")),
    ]


def test_an_open_quote_is_an_error() -> None:
    with pytest.raises(ValueError, match="quotation"):
        list(commands("echo 'a"))


def test_of_a_console_the_lines_after_prompts_were_typed() -> None:
    assert typed("$ echo 1\n1\n$ echo 2\n2") == "echo 1\necho 2"
