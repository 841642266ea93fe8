"""The status that the agent reports of a pod."""

from dataclasses import replace

from scale_tests.cluster.agent.machine import Seen, status
from scale_tests.cluster.kube import Json, holds

POD: Json = {"spec": {"containers": [{"name": "node", "image": "erlang-node"}]}}
SEEN = Seen(
    address="10.204.0.9",
    host="10.203.0.1",
    began="2026-01-01T00:00:00Z",
    started_at="2026-01-01T00:00:01Z",
    started=True,
    ready=True,
    restarts=2,
)


def test_a_pod_is_at_its_address_and_ready_when_its_process_is() -> None:
    reported = status(POD, SEEN)
    assert (reported["phase"], reported["podIP"]) == ("Running", "10.204.0.9")
    (container,) = reported["containerStatuses"]
    assert (container["name"], container["ready"], container["restartCount"]) == ("node", True, 2)
    assert holds({"status": reported}, "Ready")
    assert not holds({"status": status(POD, replace(SEEN, ready=False))}, "Ready")


def test_a_condition_that_has_not_changed_keeps_its_time() -> None:
    then = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:02Z"}
    known = {**POD, "status": {"conditions": [then]}}
    assert then in status(known, SEEN)["conditions"]
    assert then not in status(known, replace(SEEN, ready=False))["conditions"]
