"""Figures of the kernel for a process."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from scale_tests.host import procfs


def test_processor_time_is_that_of_the_process() -> None:
    assert abs(procfs.cpu_seconds(os.getpid()) - time.process_time()) < 1


def test_a_process_that_has_ended_has_not_started_whether_reaped_or_not() -> None:
    with subprocess.Popen(["true"]) as process:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert procfs.started(process.pid) is None
    assert procfs.started(process.pid) is None
    assert procfs.started(os.getpid()) is not None


def test_a_child_is_its_parents() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        assert process.pid in procfs.children(os.getpid())
        assert procfs.children(process.pid) == []
        process.kill()


def test_the_share_of_a_machine_that_is_busy() -> None:
    assert 0 <= procfs.busy_share(0.05) <= 1


def test_memory_in_use_is_less_than_the_machine_has() -> None:
    used, swapped = procfs.memory_used()
    assert 0 < used < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert swapped >= 0


def test_available_memory_is_read_from_meminfo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "MemTotal:       24000000 kB\nMemAvailable:    1000 kB\nHugePages_Total:       0\n"
    (tmp_path / "meminfo").write_text(text)
    monkeypatch.setattr(procfs, "PROC", tmp_path)
    assert procfs.memory_available() == 1_024_000
