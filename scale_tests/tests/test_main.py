"""The one command line of all benchmarks."""

from importlib import import_module

import pytest

from scale_tests import __main__ as command


def test_without_a_benchmark_it_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in command.packages())


@pytest.mark.parametrize("name", list(command.packages()))
def test_each_benchmark_says_how_it_is_used(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        command.main([name, "--help"])
    assert end.value.code == 0
    assert f"usage: python -m scale_tests {name}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("dashboards --of ads", "argument --of: 'ads' is not NAMESPACE/CLUSTER"),
        ("dashboards --of /ads", "argument --of: '/ads' is not NAMESPACE/CLUSTER"),
        ("ring --services echo,kv", "argument --services: no kv; there are ack, history, echo"),
        ("deletion --sizes 64,100", "argument --sizes: no 100; there are 64, 256, 1024"),
        ("deletion --overlays Mesh", "argument --overlays: no Mesh; there are FullMesh, "),
        ("upgrade HEAD --nodes 0", "argument --nodes: '0' is no number of nodes from 1 to 1024"),
        ("upgrade HEAD --nodes 1025", "argument --nodes: '1025' is no number of nodes"),
        ("upgrade HEAD --nodes -1", "argument --nodes: '-1' is no number of nodes"),
        ("experiments run x --sizes 8,many", "argument --sizes: '8,many' is not such as 32,64"),
        ("prediction cells --budget nan", "argument --budget: 'nan' is no number of seconds"),
        ("prediction cells --timeout -1", "argument --timeout: '-1' is no number of seconds"),
        ("churn --nodes many", "argument --nodes: 'many' is no number of nodes from 4 to 1024"),
    ],
)
def test_a_wrong_value_is_named_before_anything_is_done(
    words: str, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *options = words.split()
    with pytest.raises(SystemExit) as end:
        import_module(f"{command.packages()[name]}.cli").BENCH.parser().parse_args(options)
    assert end.value.code == 2
    assert error in capsys.readouterr().err


def test_an_unknown_benchmark_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["no-bench"]) == 2
    assert "there are churn, " in capsys.readouterr().err
