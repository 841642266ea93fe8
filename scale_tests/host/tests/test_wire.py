"""The settings of the network between virtual machines."""

import os

import pytest

from scale_tests.host.commands import ExpectedError
from scale_tests.host.wire import congestion_controls, tcp_settings, wire


def test_windows_are_the_kernels_own_unless_they_are_given() -> None:
    assert tcp_settings("reno", None) == {"tcp_congestion_control": "reno"}


def test_a_window_bounds_both_buffers() -> None:
    assert tcp_settings("reno", 65536) == {
        "tcp_congestion_control": "reno",
        "tcp_rmem": "4096 65536 65536",
        "tcp_wmem": "4096 16384 65536",
    }


def test_this_kernel_has_reno() -> None:
    assert "reno" in congestion_controls()


def test_a_wire_needs_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(ExpectedError, match="root"), wire(20, "reno", ends=3):
        pass


def test_a_wire_has_two_ends_at_least(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(ExpectedError, match="2 to 254 ends, not 1"), wire(20, "reno", ends=1):
        pass
