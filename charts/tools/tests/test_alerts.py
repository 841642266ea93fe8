"""Every alert must fire in one test and be quiet in another."""

from typing import Any

import pytest

from charts.tools.alerts import chart_alerts, check_tested
from scale_tests.host.commands import ExpectedError

FIRES = {"expr": 'ALERTS{alertname="Mine", alertstate="firing"}', "exp_samples": [{"value": 1}]}
QUIET = {"expr": 'ALERTS{alertname="Mine", alertstate="firing"}'}


def file_of(*expected: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"tests": [{"promql_expr_test": [one]} for one in expected]}]


def test_an_alert_that_fires_in_one_test_and_is_quiet_in_another_passes() -> None:
    check_tested(["Mine"], file_of(FIRES, QUIET))


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        (file_of(QUIET), "in which Mine fires"),
        (file_of(FIRES), "in which Mine is quiet"),
        ([], "in which Mine fires"),
    ],
)
def test_an_alert_without_either_test_is_named(tests: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ExpectedError, match=message):
        check_tested(["Mine"], tests)


def test_every_alert_of_the_chart_has_a_description_and_a_delay() -> None:
    for alert in chart_alerts():
        assert alert.name.startswith("Partisan")
        assert alert.severity in ("critical", "warning")
        assert alert.description.endswith(".")
        assert alert.pending
