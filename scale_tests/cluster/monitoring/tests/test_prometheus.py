"""The obstacles to asking Prometheus."""

import pytest

from scale_tests.cluster.kube import ApiError, Cluster, Json
from scale_tests.cluster.monitoring.prometheus import Prometheus, obstacle


class Answering(Cluster):
    """A cluster with a Deployment of this status, whose pod answers or does not."""

    def __init__(self, *, answers: bool, **status: int) -> None:
        self.answers = answers
        self.status = status

    def get(self, path: str, *, timeout: float = 10.0, **query: str) -> Json:
        return {"metadata": {"generation": 2}, "status": self.status}

    def text(self, path: str, **query: str) -> str:
        if self.answers:
            return "Prometheus Server is Ready."
        raise ApiError(503, "ServiceUnavailable", "error trying to reach service")


CURRENT = {"observedGeneration": 2, "updatedReplicas": 1, "readyReplicas": 1}


def test_nothing_stands_in_the_way_of_one_that_answers() -> None:
    assert obstacle(Prometheus(Answering(answers=True, **CURRENT))) == ""


def test_a_pod_that_is_said_to_be_ready_and_does_not_answer_is_waited_for() -> None:
    text = obstacle(Prometheus(Answering(answers=False, **CURRENT)))
    assert "error trying to reach service" in text


@pytest.mark.parametrize(
    "status",
    [
        CURRENT | {"observedGeneration": 1},
        CURRENT | {"updatedReplicas": 0},
        {"observedGeneration": 2, "updatedReplicas": 1},
    ],
)
def test_a_pod_of_before_is_no_answer(status: dict[str, int]) -> None:
    assert "its pod" in obstacle(Prometheus(Answering(answers=True, **status)))
