"""`must-gather` of the plugin, and files that cannot be written."""

from __future__ import annotations

import base64
import json
import tarfile
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from fake_kubectl import CORE, NOW, TOKEN, FakeKubectl, run
from partisan_operator.act import mint
from partisan_operator.cli.access import CommandError


def test_the_archive_holds_everything_and_no_secret(kubectl: FakeKubectl, tmp_path: Path) -> None:
    _, text = run(kubectl, "must-gather", "ads", "-f", str(tmp_path / "ads.tar.gz"))
    assert text.endswith("; 1 thing could not be read: see errors.txt\n")
    files: dict[str, str] = {}
    with tarfile.open(tmp_path / "ads.tar.gz") as tar:
        for member in tar:
            content = tar.extractfile(member)
            assert content is not None
            files[member.name.partition("/")[2]] = content.read().decode()
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
    run(kubectl, "must-gather", "ads", "-f", str(tmp_path / "ads.tar.gz"))
    with tarfile.open(tmp_path / "ads.tar.gz") as tar:
        for member in tar:
            content = tar.extractfile(member)
            assert content is not None
            text = content.read().decode()
            assert "PRIVATE KEY" not in text, member.name
            assert encoded not in text, member.name


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
