"""Records of processes, and the certificates they present."""

import json
import os
import signal
import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest

from scale_tests.host import procfs
from scale_tests.localkube import processes, waiting
from scale_tests.localkube.certificates import ensure_certificates, identities
from scale_tests.localkube.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(state=tmp_path / "state", run=tmp_path / "run")


def write_record(settings: Settings, record: processes.Record) -> None:
    settings.records.mkdir(parents=True)
    (settings.records / "etcd.json").write_text(json.dumps(asdict(record)))


def test_a_component_that_never_started_has_no_record(settings: Settings) -> None:
    assert processes.find(settings, "etcd") is None
    assert processes.recorded(settings) == {}


def test_a_process_id_that_was_reused_is_another_process(settings: Settings) -> None:
    write_record(settings, processes.Record(pid=os.getpid(), started=1, digest=""))
    assert processes.find(settings, "etcd") is None


def test_a_running_process_is_found_and_stopped(settings: Settings) -> None:
    with subprocess.Popen(["sleep", "600"]) as process:
        started = procfs.started(process.pid)
        assert started is not None
        write_record(settings, processes.Record(pid=process.pid, started=started, digest="x"))
        record = processes.recorded(settings)["etcd"]
        processes.stop(record, seconds=10)
        assert not record.alive
    assert process.returncode == -15


def test_a_stopped_process_runs_again() -> None:
    with subprocess.Popen(["sleep", "600"]) as process:
        started = procfs.started(process.pid)
        assert started is not None
        os.kill(process.pid, signal.SIGSTOP)
        assert os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1])
        processes.resume(processes.Record(pid=process.pid, started=started, digest="x"))
        assert os.WIFCONTINUED(os.waitpid(process.pid, os.WCONTINUED)[1])
        process.kill()


def test_a_condition_that_is_never_met_is_named() -> None:
    with pytest.raises(waiting.TimedOutError, match="no one is home"):
        waiting.until_none(lambda: "no one is home", seconds=0)


def test_certificates_verify_and_existing_ones_are_kept(settings: Settings) -> None:
    ensure_certificates(settings)
    pki = settings.certificates
    files = sorted(pki.glob("*.crt"))
    assert {path.stem for path in files} == {i.file for i in identities(settings)} | {"ca"}
    subprocess.run(
        ["openssl", "verify", "-x509_strict", "-CAfile", pki / "ca.crt", *files], check=True
    )
    before = {path.name: path.read_bytes() for path in pki.iterdir()}
    ensure_certificates(settings)
    assert {path.name: path.read_bytes() for path in pki.iterdir()} == before
    assert all(path.stat().st_mode & 0o077 == 0 for path in pki.glob("*.key"))
