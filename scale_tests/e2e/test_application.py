"""The example of an application's needs: files, a volume, containers and a port of the pods."""

import pytest
import yaml

from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import ApiError, Cluster, Json, core
from scale_tests.cluster.subject import Subject, manifest
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject
from scale_tests.host.commands import ROOT

EXAMPLE = ROOT / "examples" / "application.yaml"
NAME = "ads-application"


@pytest.fixture(scope="module")
def subject(environment: Environment, cluster: Cluster, new_subject: NewSubject) -> Subject:
    """The example with two nodes, and with an image that has Python and is there."""
    found = new_subject(NAME)
    settings, body = yaml.safe_load_all(EXAMPLE.read_text())
    body["spec"]["replicas"] = 2
    additions = body["spec"]["pods"]
    for container in (*additions["initContainers"], *additions["sidecars"]):
        container["image"] = environment.operator_image
        container["imagePullPolicy"] = "IfNotPresent"
    cluster.create(core(found.namespace, "configmaps"), settings)
    found.apply(body)
    found.wait_healthy(2)
    return found


def run(subject: Subject, container: str, *command: str) -> str:
    """The output of a command in a container of the first pod. Raises CommandError."""
    return subject.kubectl("exec", f"{NAME}-0", "-c", container, "--", *command).strip()


def test_the_node_has_the_files_the_volume_and_the_arguments(subject: Subject) -> None:
    assert run(subject, "node", "cat", "/etc/ads/greeting") == "hello"
    assert run(subject, "node", "cat", "/srv/data/seed") == "seeded"
    words = run(subject, "node", "cat", "/proc/1/cmdline").split("\0")
    place = words.index("-ads")
    assert words[place : place + 3] == ["-ads", "level", "debug"]


def test_the_sidecar_answers_at_the_service(subject: Subject, cluster: Cluster) -> None:
    # By way of the API server, which connects to a ready pod of the Service.
    path = core(subject.namespace, "services", f"{NAME}-app:web/proxy/seed")

    def fetch() -> str:
        try:
            return cluster.text(path)
        except ApiError as error:  # its endpoints follow the pods
            return str(error)

    wait_for("the seed from the Service", fetch, lambda text: text == "seeded")


def test_pods_have_one_main_container_and_no_token(subject: Subject) -> None:
    pod = subject.pods()[f"{NAME}-0"]
    assert [status["name"] for status in pod["status"]["containerStatuses"]] == ["node"]
    volumes = {volume["name"] for volume in pod["spec"]["volumes"]}
    assert {"config", "data"} <= volumes
    assert not [name for name in volumes if name.startswith("kube-api-access")]


def test_the_service_goes_with_the_last_port(subject: Subject, cluster: Cluster) -> None:
    services = core(subject.namespace, "services")

    def names() -> set[str]:
        found = {item["metadata"]["name"] for item in cluster.list(services)}
        return {name for name in found if name.startswith(NAME)}

    assert names() == {NAME, f"{NAME}-app"}
    subject.patch(pods={"ports": None})
    wait_for("the Service is deleted", names, lambda found: found == {NAME})


def test_a_sidecar_that_does_not_start_is_named(new_subject: NewSubject) -> None:
    sidecar: Json = {"name": "absent", "image": "registry.invalid/nobody/nothing:1"}
    subject = new_subject("lacking")
    subject.apply(manifest("lacking", 1, workload=None, pods={"sidecars": [sidecar]}))
    subject.wait_degraded("ImagePullFailed", "container absent", "Check its image in spec.pods")


def test_a_config_map_that_pods_wait_for_is_named(new_subject: NewSubject) -> None:
    files: Json = {"configMap": "no-such-settings", "mountPath": "/etc/ads"}
    subject = new_subject("waiting")
    subject.apply(manifest("waiting", 1, workload=None, pods={"configFiles": [files]}))
    subject.wait_degraded("MountFailed", "no-such-settings", "change spec.pods")


def test_an_override_is_merged_or_refused_with_the_pods_left_alone(
    new_subject: NewSubject,
) -> None:
    subject = new_subject("overridden")

    def override(**spec: Json | list[Json] | bool | None) -> None:
        subject.patch(pods={"override": {"spec": spec}})

    aliases: list[Json] = [{"ip": "192.0.2.1", "hostnames": ["legacy"]}]
    pods = {"override": {"spec": {"hostAliases": aliases}}}
    subject.apply(manifest("overridden", 1, workload=None, pods=pods))
    subject.wait_healthy(1)
    hosts = subject.kubectl("exec", "overridden-0", "-c", "node", "--", "cat", "/etc/hosts")
    assert "192.0.2.1" in hosts
    before = subject.uids()
    override(hostAliases=[{"ip": "nowhere", "hostnames": ["legacy"]}])
    subject.wait_degraded("OverrideRefused", "API server", "hostAliases[0].ip")
    override(hostAliases=aliases, containers=[{"name": "node", "image": "other:1"}])
    subject.wait_degraded("OverrideRefused", "spec.containers[node].image cannot change")
    override(containers=None, hostNetwork=True)
    subject.wait_degraded("InvalidSpec", "hostNetwork: true", "restricted")
    override(hostNetwork=None)
    subject.wait_healthy(1)
    assert subject.uids() == before
