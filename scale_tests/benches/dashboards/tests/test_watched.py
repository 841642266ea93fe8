"""The reading of Prometheus' answers."""

from typing import cast

from charts.tools.dashboards.files import committed
from scale_tests.benches.dashboards.pictures import Range
from scale_tests.benches.dashboards.watched import answered, history
from scale_tests.cluster.kube import Json
from scale_tests.cluster.monitoring.prometheus import Prometheus


class Fake:
    """Answers every query with the same series."""

    def __init__(self, over_time: list[Json], now: list[Json]) -> None:
        self.over_time, self.now = over_time, now

    def query(self, _expression: str, **_when: float) -> list[Json]:
        return self.now

    def query_range(self, _expression: str, **_range: float) -> list[Json]:
        return self.over_time


def alert(state: str, *times: float) -> Json:
    return {"metric": {"alertstate": state}, "values": [[time, "1"] for time in times]}


def lived(over_time: list[Json], now: list[Json]) -> list[tuple[float, str]]:
    fake = cast(Prometheus, Fake(over_time, now))
    return history(fake, "PartisanNodesIsolated", "", start=0.0, end=100.0)


def test_an_alert_that_came_and_went() -> None:
    series = [alert("firing", 20.0, 25.0), alert("pending", 10.0, 15.0)]
    assert lived(series, []) == [(10.0, "pending"), (20.0, "firing"), (30.0, "inactive")]


def test_an_alert_that_came_twice() -> None:
    states = [state for _, state in lived([alert("pending", 10.0, 15.0, 60.0, 65.0)], [])]
    assert states == ["pending", "inactive", "pending", "inactive"]


def test_an_alert_that_still_fires_and_one_that_never_was() -> None:
    series = [alert("firing", 70.0)]
    assert lived(series, series) == [(70.0, "firing")]
    assert lived([], []) == []


def test_only_series_with_numbers_count_as_an_answer() -> None:
    nothing: Json = {"metric": {}, "values": [[1.0, "NaN"]], "value": [1.0, "NaN"]}
    something: Json = {"metric": {}, "values": [[1.0, "2"]], "value": [1.0, "2"]}
    fake = cast(Prometheus, Fake([nothing, something], [nothing, something]))
    shown = Range(prometheus=fake, namespace="default", cluster="ads", start=0.0, end=100.0)
    found = answered([committed()["operator"]], lambda panel: shown)
    assert set(found.values()) == {1}
