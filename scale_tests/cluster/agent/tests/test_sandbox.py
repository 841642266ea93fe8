"""The fields of a pod, and the surroundings of its process."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from scale_tests.cluster.agent import sandbox
from scale_tests.cluster.agent.sandbox import Sandbox, UnsupportedError
from scale_tests.cluster.kube import Json

ADDRESS, DNS = "10.204.0.9", "10.203.0.1"


def pod(env: list[Json], **container: Any) -> Json:
    return {
        "metadata": {
            "name": "ads-7",
            "namespace": "here",
            "labels": {"topology.kubernetes.io/zone": "b"},
        },
        "spec": {"nodeName": "processes", "containers": [{"env": env, **container}]},
    }


def field(name: str, path: str) -> Json:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def test_a_process_has_the_variables_of_its_pod(tmp_path: Path) -> None:
    asked = pod(
        [
            field("POD_NAME", "metadata.name"),
            field("POD_NAMESPACE", "metadata.namespace"),
            field("POD_IP", "status.podIP"),
            field("K8S_NODE_NAME", "spec.nodeName"),
            field("K8S_ZONE", "metadata.labels['topology.kubernetes.io/zone']"),
            field("K8S_RACK", "metadata.labels['rack']"),
            {"name": "ERL_FLAGS", "value": "+S 1:1"},
        ]
    )
    found = Sandbox(tmp_path).environment(asked, ADDRESS)
    wanted = {
        "POD_NAME": "ads-7",
        "POD_NAMESPACE": "here",
        "POD_IP": ADDRESS,
        "K8S_NODE_NAME": "processes",
        "K8S_ZONE": "b",
        "K8S_RACK": "",
        "ERL_FLAGS": "+S 1:1",
        "PARTISAN_LISTEN_IP": ADDRESS,
        "PARTISAN_CONFIG": f"{tmp_path}/config/node.config",
    }
    assert wanted.items() <= found.items()


def test_a_process_finds_names_as_in_its_pod(tmp_path: Path) -> None:
    *flag, rules = Sandbox(tmp_path).resolver(pod([]), DNS)
    assert flag == ["-kernel", "inetrc"]
    assert str(tmp_path / "resolv.conf") in Path(rules.strip('"')).read_text()
    assert (tmp_path / "resolv.conf").read_text() == (
        "nameserver 10.203.0.1\nsearch here.svc.cluster.local svc.cluster.local cluster.local\n"
    )


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (pod([field("A", "metadata.uid")]), "metadata.uid"),
        (pod([{"name": "B", "valueFrom": {"secretKeyRef": {}}}]), "B: only"),
        (pod([], envFrom=[{"secretRef": {"name": "s"}}]), "envFrom"),
    ],
)
def test_unsupported_fields_are_refused(asked: Json, message: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match=message):
        Sandbox(tmp_path).environment(asked, ADDRESS)


def test_volumes_come_from_where_the_pod_says() -> None:
    volumes = [
        {"name": "config", "configMap": {"name": "ads-config"}},
        {"name": "secret", "secret": {"secretName": "ads-token"}},
        {"name": "state", "emptyDir": {}},
    ]
    assert sandbox.sources({"spec": {"volumes": volumes}}) == {
        "config": ("configmaps", "ads-config"),
        "secret": ("secrets", "ads-token"),
        "state": ("", ""),
    }
    with pytest.raises(UnsupportedError, match="volume disk"):
        sandbox.sources({"spec": {"volumes": [{"name": "disk", "hostPath": {"path": "/"}}]}})


def test_files_have_the_contents_of_the_object() -> None:
    assert sandbox.files("configmaps", {"data": {"node.config": "#{}."}}) == {
        "node.config": b"#{}."
    }
    assert sandbox.files("secrets", {"data": {"token": "YWI="}}) == {"token": b"ab"}
    assert sandbox.files("configmaps", {}) == {}


def test_there_is_an_address_for_each_of_thousands() -> None:
    taken = list(itertools.islice(sandbox.addresses(), 2048))
    assert len(set(taken)) == 2048
