"""The one command line of all benchmarks."""

import pytest

from scale_tests import __main__ as command


def test_without_a_benchmark_it_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {name} " in shown for name in command.names())


@pytest.mark.parametrize("name", list(command.names()))
def test_each_benchmark_says_how_it_is_used(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        command.main([name, "--help"])
    assert end.value.code == 0
    assert f"usage: python -m scale_tests {name}" in capsys.readouterr().out


def test_an_unknown_benchmark_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["no-bench"]) == 2
    assert "there are churn, " in capsys.readouterr().err
