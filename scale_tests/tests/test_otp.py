"""Another OTP release than the machine's, unpacked."""

import subprocess
from pathlib import Path

import pytest

from scale_tests import otp


def test_its_programs_come_first_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    root = Path("/otp")
    found = otp.environment(root, "27")
    monkeypatch.setenv("PATH", found["PATH"])
    assert otp.environment(root, "27") == found
    assert found["PATH"] == "/otp/usr/lib/erlang/bin:/otp/usr/bin:/usr/bin"


def test_its_compiled_files_stay_apart() -> None:
    older, newer = (otp.environment(Path("/otp"), release) for release in ("27", "29"))
    assert older["REBAR_BASE_DIR"] != newer["REBAR_BASE_DIR"]


def test_a_script_names_the_place_it_will_have(tmp_path: Path) -> None:
    script = tmp_path / otp.ERLANG / "bin" / "erl"
    script.parent.mkdir(parents=True)
    script.write_text("#!/bin/sh\nROOTDIR=/usr/lib/erlang\necho $ROOTDIR\n")
    script.chmod(0o755)
    otp.settle(tmp_path, Path("/otp"))
    shown = subprocess.run([script], capture_output=True, text=True, check=True).stdout
    assert shown == "/otp/usr/lib/erlang\n"
