"""Reading the package list, and finding missing packages."""

import pytest

from scale_tests import bootstrap

PACKAGES = ["erlang-base", "libx", "runc"]


def test_comments_and_blank_lines_are_no_packages() -> None:
    assert bootstrap.parse_packages("# heading\n\nerlang-base  # the VM\nrunc\n") == [
        "erlang-base",
        "runc",
    ]


def test_the_projects_list_names_each_package_once_with_a_reason() -> None:
    text = bootstrap.PACKAGE_LIST.read_text()
    packages = bootstrap.parse_packages(text)
    assert len(packages) == len(set(packages)) > 20
    assert all("#" in line for line in text.splitlines() if line and line[0] != "#")


def test_unknown_and_removed_packages_are_not_installed() -> None:
    shown = "erlang-base installed\nlibx config-files\n"
    assert bootstrap.not_installed(PACKAGES, shown) == ["libx", "runc"]


def test_nothing_is_missing_when_all_are_installed() -> None:
    shown = "".join(f"{package} installed\n" for package in PACKAGES)
    assert bootstrap.not_installed(PACKAGES, shown) == []


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda program: None if program == "go" else program)
    with pytest.raises(bootstrap.BootstrapError, match=r"Go 1\.26 or newer"):
        bootstrap.ensure_packages()


def test_on_another_system_the_programs_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "shutil.which", lambda program: program if program in ("go", "git") else None
    )
    with pytest.raises(bootstrap.BootstrapError, match=r"Erlang/OTP 25 or newer, rebar3"):
        bootstrap.ensure_packages()
