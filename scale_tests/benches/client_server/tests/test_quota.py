"""The limits of a server's control group, on machines with either version of them."""

from pathlib import Path

import pytest

from scale_tests.benches.client_server import quota as quotas
from scale_tests.host.commands import ExpectedError
from scale_tests.localkube.cgroups import Hierarchy

V1 = frozenset({"rw", "cpu"})


def test_a_share_is_that_of_the_period_in_both_versions() -> None:
    old = quotas._settings(Hierarchy(Path("/cpu"), 1, V1), 0.25)
    new = quotas._settings(Hierarchy(Path("/all"), 2, frozenset()), 0.25)
    assert (old["cpu.cfs_quota_us"], old["cpu.cfs_period_us"]) == ("25000", "100000")
    assert new["cpu.max"] == "25000 100000"


def test_a_process_is_put_into_a_group_that_goes_when_it_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removed: list[str] = []
    monkeypatch.setattr(quotas, "hierarchies", lambda: [Hierarchy(tmp_path, 1, V1)])
    monkeypatch.setattr(quotas, "remove", removed.append)
    with quotas.quota(0.5) as take:
        take(42)
        [group] = tmp_path.iterdir()
        assert (group / "cgroup.procs").read_text() == "42"
        assert removed == []
    assert removed == [group.name]


def test_where_there_is_no_limit_to_set_the_remedy_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(quotas, "hierarchies", list)
    with quotas.quota(0.5) as take, pytest.raises(ExpectedError, match="run this as root"):
        take(42)
