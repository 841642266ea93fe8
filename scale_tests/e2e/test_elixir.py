"""The Elixir example: a GenServer that calls its peers, in an image built from a Mix release."""

import yaml

from scale_tests.cluster.environment import Environment, add_image
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject
from scale_tests.host.commands import ROOT


def test_an_elixir_server_has_the_structs_of_all_nodes(
    new_subject: NewSubject, environment: Environment
) -> None:
    body = yaml.safe_load((ROOT / "examples" / "elixir" / "cluster.yaml").read_text())
    body["spec"]["image"] = add_image(environment, "elixir")
    subject = new_subject("greeters")
    subject.apply(body)
    subject.wait_finished()
    run = subject.json()["status"]["workload"]
    assert (run["module"], run["phase"]) == ("greetings", "Finished")
    assert (run["value"], run["threshold"]) == (3, 3)
    assert subject.kubectl("wait", "--for=condition=WorkloadConverged", "pcl/greeters")
    # Another card, which all others receive in answers to their calls or to its own.
    subject.patch(replicas=4)
    subject.wait("the fourth node joined", lambda s: s.finished and s.joined == 4)
    wait_for(
        "the fourth card",
        lambda: [subject.metrics(pod) for pod in subject.pods()],
        lambda texts: all("\ngreeter_cards 4\n" in text for text in texts),
    )
