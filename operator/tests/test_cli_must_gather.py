"""`must-gather` of the plugin, and files that cannot be written."""

import base64
import json
import tarfile
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from fake_kubectl import CORE, NOW, TOKEN, FakeKubectl, run
from partisan_operator.act import mint
from partisan_operator.cli.access import CommandError


def unpacked(path: Path) -> dict[str, str]:
    """Return the text of each file of an archive, by its path below the archive's directory."""
    files: dict[str, str] = {}
    with tarfile.open(path) as tar:
        for member in tar:
            content = tar.extractfile(member)
            assert content is not None
            files[member.name.partition("/")[2]] = content.read().decode()
    return files


def gathered(kubectl: FakeKubectl, directory: Path) -> dict[str, str]:
    run(kubectl, "must-gather", "ads", "-f", str(directory / "ads.tar.gz"))
    return unpacked(directory / "ads.tar.gz")


def volume_claim(name: str, cluster: str, volume: str = "") -> dict[str, Any]:
    labels = {"partisan.dev/cluster": cluster} if cluster else {}
    spec = {"volumeName": volume} if volume else {}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


def test_the_archive_holds_everything_and_no_secret(kubectl: FakeKubectl, tmp_path: Path) -> None:
    _, text = run(kubectl, "must-gather", "ads", "-f", str(tmp_path / "ads.tar.gz"))
    assert text.endswith("; 1 thing could not be read: see errors.txt\n")
    files = unpacked(tmp_path / "ads.tar.gz")
    assert {f"nodes/ads-{ordinal}.log" for ordinal in range(4)} < files.keys()
    assert "nodes/ads-2.previous.log" in files
    assert files["nodes/ads-1.metrics.txt"] == "partisan_overlay_joined 1\n"
    assert json.loads(files["nodes/ads-0.status.json"])["node"] == "ads-0"
    assert files["errors.txt"] == 'machines.yaml: nodes is forbidden: User "u"\n'
    assert "managedFields" not in files["cluster.yaml"]
    assert yaml.safe_load(files["secrets.yaml"])["data"]["token"] == "REDACTED (8 characters)"
    for content in files.values():
        assert TOKEN not in content
        assert "secret-word" not in content


def test_the_archive_has_the_log_of_every_container(kubectl: FakeKubectl, tmp_path: Path) -> None:
    pod = kubectl.pods["ads-2"]
    # A sidecar that an admission webhook put first.
    pod["spec"]["containers"].insert(0, {"name": "proxy", "image": "proxy:1"})
    pod["spec"]["initContainers"] = [
        {"name": "fetch"},
        {"name": "agent", "restartPolicy": "Always"},
    ]
    pod["status"]["initContainerStatuses"] = [
        {"name": "fetch", "restartCount": 0},
        {"name": "agent", "restartCount": 3},
    ]
    files = gathered(kubectl, tmp_path)
    assert {name for name in files if name.startswith("nodes/ads-2") and name.endswith(".log")} == {
        "nodes/ads-2.log",
        "nodes/ads-2.previous.log",
        "nodes/ads-2/proxy.log",
        "nodes/ads-2/fetch.log",
        "nodes/ads-2/agent.log",
        "nodes/ads-2/agent.previous.log",
    }
    queries = [
        parse_qs(urlsplit(command[2]).query)
        for command in kubectl.commands
        if command[:2] == ["get", "--raw"] and "/pods/ads-2/log" in command[2]
    ]
    assert sorted((query["container"][0], "previous" in query) for query in queries) == [
        ("agent", False),
        ("agent", True),
        ("fetch", False),
        ("node", False),
        ("node", True),
        ("proxy", False),
    ]


def test_the_archive_has_the_clusters_claims_and_volumes_alone(
    kubectl: FakeKubectl, tmp_path: Path
) -> None:
    own = volume_claim("data-ads-5", "ads", "pv-5"), volume_claim("data-ads-0", "ads")
    shared = volume_claim("shared", "", "pv-shared")
    items = [*own, shared, volume_claim("data-other-0", "other", "pv-other")]
    kubectl.answers[f"{CORE}/persistentvolumeclaims"] = {"items": items}
    kubectl.pods["ads-0"]["spec"]["volumes"] = [
        {"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}},
        {"name": "run", "emptyDir": {}},
    ]
    attributes = {"server": "nfs-1", "password": "word-of-a-driver"}
    kubectl.answers["/api/v1/persistentvolumes"] = {
        "items": [
            {"metadata": {"name": name}, "spec": {"csi": {"volumeAttributes": attributes}}}
            for name in ("pv-5", "pv-shared", "pv-other")
        ]
    }
    files = gathered(kubectl, tmp_path)
    claims = list(yaml.safe_load_all(files["persistentvolumeclaims.yaml"]))
    assert claims == [*own, shared]
    volumes = list(yaml.safe_load_all(files["persistentvolumes.yaml"]))
    assert [volume["metadata"]["name"] for volume in volumes] == ["pv-5", "pv-shared"]
    assert volumes[0]["spec"]["csi"]["volumeAttributes"] == {
        "server": "nfs-1",
        "password": "REDACTED",
    }


def test_volumes_that_may_not_be_read_are_one_error(kubectl: FakeKubectl, tmp_path: Path) -> None:
    claims = [volume_claim(f"data-ads-{n}", "ads", f"pv-{n}") for n in range(4)]
    kubectl.answers[f"{CORE}/persistentvolumeclaims"] = {"items": claims}
    kubectl.answers["/api/v1/persistentvolumes"] = "Error from server (Forbidden): not yours"
    assert "persistentvolumes.yaml: not yours\n" in gathered(kubectl, tmp_path)["errors.txt"]


def test_the_archive_shows_no_key_of_the_clusters_own_authority(
    kubectl: FakeKubectl, tmp_path: Path
) -> None:
    pair = mint.new_authority("ads", NOW, timedelta(days=1))
    encoded = base64.b64encode(pair.key.encode()).decode()
    kubectl.cluster["spec"]["security"] = {"tls": {"clusterCa": {}}}
    kubectl.answers[f"{CORE}/secrets"]["items"] += [
        {"metadata": {"name": name}, "data": {"tls.key": encoded}} for name in ("ads-ca", "ads-tls")
    ]
    astray = {"metadata": {"name": "x"}, "data": {"clear": pair.key, "encoded": encoded}}
    kubectl.answers[f"{CORE}/configmaps"] = {"items": [astray]}
    for name, text in gathered(kubectl, tmp_path).items():
        assert "PRIVATE KEY" not in text, name
        assert encoded not in text, name


def test_a_bundle_without_the_right_to_read_secrets_reports_it(
    kubectl: FakeKubectl, tmp_path: Path
) -> None:
    kubectl.answers[f"{CORE}/secrets"] = "Error from server (Forbidden): secrets is forbidden"
    _, text = run(kubectl, "must-gather", "ads", "-f", str(tmp_path / "ads.tar.gz"))
    assert "2 things could not be read" in text


def test_an_unwritable_path_is_named(kubectl: FakeKubectl, tmp_path: Path) -> None:
    missing = tmp_path / "missing" / "file"
    for command in (("must-gather", "ads"), ("graph", "ads")):
        with pytest.raises(CommandError, match=r"cannot write .*missing/file: No such file"):
            run(kubectl, *command, "-f", str(missing))
