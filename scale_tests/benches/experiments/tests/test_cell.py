"""The end of a cell."""

import time
from typing import Any, cast

import pytest

from scale_tests.benches.experiments import cell
from scale_tests.cluster.kube import ApiError, Cluster, Json


class Busy:
    """An API server that answers every other request only."""

    def __init__(self) -> None:
        self._asked = 0
        self.deleted: list[str] = []

    def delete(self, path: str, **_: str) -> None:
        self._answer()
        self.deleted.append(path)

    def list(self, _path: str, _selector: str = "") -> list[Json]:
        self._answer()
        return []

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} is not asked for")

    def _answer(self) -> None:
        self._asked += 1
        if self._asked % 2:
            raise ApiError(0, "Unreachable", "read timed out")


def test_a_busy_api_server_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    monkeypatch.setattr(cell, "children", lambda *_: [])
    busy = Busy()
    assert cell.remove(cast(Cluster, busy), "here") == []
    assert [path.rpartition("/")[2] for path in busy.deleted] == ["ads", "pods"]
