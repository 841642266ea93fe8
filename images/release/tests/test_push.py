"""Artifacts of a release in a registry: pushed as they are, pulled by helm and skopeo."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from images.release import chart, oci
from images.release.__main__ import push
from images.release.archive import tar
from images.release.plan import Plan
from images.release.tests.registry import registry
from images.release.version import ReleaseError, version
from scale_tests.host.commands import capture
from scale_tests.localkube import ociarchive

pytestmark = pytest.mark.skipif(not shutil.which("skopeo"), reason="needs skopeo: make bootstrap")


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plan]:
    """A small release for a registry without TLS, built but not pushed."""
    with registry() as host:
        trusted = tmp_path / ".config" / "containers" / "registries.conf"
        trusted.parent.mkdir(parents=True)
        trusted.write_text(f'[[registry]]\nlocation = "{host}"\ninsecure = true\n')
        monkeypatch.setenv("HOME", str(tmp_path))
        directory = tmp_path / "release"
        made = Plan(version=version(), registry=f"{host}/team", directory=directory)
        chart.package(made)
        images = [
            oci.PlatformImage(
                {"os": "linux", "architecture": name, "config": {}}, (tar({"name": name.encode()}),)
            )
            for name in ("amd64", "arm64")
        ]
        oci.write(made.file("operator.oci.tar"), made.image("operator"), images, made.labels)
        yield made


def test_helm_pulls_the_chart_that_was_pushed(plan: Plan, tmp_path: Path, helm: str) -> None:
    push(plan)
    source = (f"oci://{plan.registry}/charts/{chart.NAME}", "--version", plan.version)
    capture([helm, "pull", "--plain-http", *source, "--destination", str(tmp_path)])
    name = f"{chart.NAME}-{plan.version}.tgz"
    assert (tmp_path / name).read_bytes() == (plan.directory / name).read_bytes()


def test_an_image_keeps_its_platforms_and_its_digest(plan: Plan) -> None:
    push(plan)
    index = capture(["skopeo", "inspect", "--raw", f"docker://{plan.image('operator')}"])
    platforms = [each["platform"]["architecture"] for each in json.loads(index)["manifests"]]
    assert platforms == ["amd64", "arm64"]
    (digest,) = ociarchive.images(plan.directory / "operator.oci.tar").values()
    assert oci.digest(index.encode()) == digest


def test_a_release_for_another_registry_is_not_pushed(plan: Plan, tmp_path: Path) -> None:
    other = Plan(version=plan.version, directory=plan.directory)
    with pytest.raises(ReleaseError, match="give the same REGISTRY"):
        push(other)
    with pytest.raises(ReleaseError, match="has no archives: make release"):
        push(Plan(version=plan.version, directory=tmp_path / "empty"))
