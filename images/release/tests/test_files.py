"""The files of a release: chart, manifest, plugin, lists of contents, checksums, notes."""

import json
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from images.release import __main__ as command
from images.release import archive, changelog, chart, oci, plugin, sbom
from images.release.plan import SUMS, Plan, write_sums
from images.release.sbom import Package
from images.release.version import ReleaseError
from scale_tests.cluster.operator import CHART
from scale_tests.host.commands import ROOT

PLAN = Plan(version="1.2.3", registry="registry.example.com/team", revision="abc")


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return replace(PLAN, directory=tmp_path)


def test_the_same_files_are_the_same_archive_in_any_order() -> None:
    files = {"b/c": b"2", "a": b"1"}
    packed = archive.tar(files, executable=["a"])
    assert packed == archive.tar(dict(reversed(files.items())), executable=["a"])
    entries = {
        entry.name: (entry.mode, entry.mtime, entry.uid) for entry, _ in archive.members(packed)
    }
    assert entries == {"b": (0o755, 0, 0), "a": (0o755, 0, 0), "b/c": (0o644, 0, 0)}


def test_the_packaged_chart_names_the_images_of_the_release(plan: Plan) -> None:
    chart.package(plan)
    with tarfile.open(plan.directory / "partisan-operator-1.2.3.tgz") as packed:
        names = packed.getnames()
        values = packed.extractfile("partisan-operator/values.yaml")
        assert values
        found = yaml.safe_load(values)
    assert found["image"]["repository"] == "registry.example.com/team/operator"
    assert found["nodeImage"]["repository"] == "registry.example.com/team/erlang-node"
    own = yaml.safe_load((ROOT / CHART / "values.yaml").read_text())
    for values_ in (found, own):
        del values_["image"]["repository"], values_["nodeImage"]["repository"]
    assert found == own
    assert "partisan-operator/templates/operator-deployment.yaml" in names
    assert not [name for name in names if "/tests" in name]


def test_values_without_a_repository_are_reported() -> None:
    with pytest.raises(ReleaseError, match="no repository of image"):
        chart.with_images("nodeImage:\n  repository: x\n", PLAN)


def test_the_charts_artifact_has_the_types_that_helm_pulls(plan: Plan) -> None:
    chart.package(plan)
    with tarfile.open(plan.directory / "partisan-operator-1.2.3-chart.oci.tar") as packed:
        files = {
            entry.name: content.read() for entry in packed if (content := packed.extractfile(entry))
        }
    (named,) = json.loads(files["index.json"])["manifests"]
    assert named["annotations"].popitem()[1] == (
        "registry.example.com/team/charts/partisan-operator:1.2.3"
    )
    manifest = json.loads(files[f"blobs/sha256/{named['digest'].partition(':')[2]}"])
    assert manifest["config"]["mediaType"] == chart.CONFIG
    (layer,) = manifest["layers"]
    assert layer["mediaType"] == chart.CONTENT
    package = (plan.directory / "partisan-operator-1.2.3.tgz").read_bytes()
    assert layer["digest"] == oci.digest(package)


def test_objects_of_the_manifest_are_not_helms() -> None:
    labels = {"app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": "x", "a": "b"}
    metadata = {"name": "x", "labels": labels, "annotations": {"helm.sh/resource-policy": "keep"}}
    deployment = {
        "kind": "Deployment",
        "metadata": metadata,
        "spec": {"template": {"metadata": {"labels": labels}, "spec": {}}},
    }
    assert chart.without_helm(deployment) == {
        "kind": "Deployment",
        "metadata": {"name": "x", "labels": {"a": "b"}},
        "spec": {"template": {"metadata": {"labels": {"a": "b"}}, "spec": {}}},
    }
    assert labels["helm.sh/chart"] == "x"


def test_the_plugin_has_all_that_it_imports() -> None:
    code = (
        "import sys; before = set(sys.modules);"
        "import partisan_operator.cli.main, partisan_operator.cli.completion;"
        "new = [module for name, module in sys.modules.items() if name not in before];"
        "files = [getattr(module, '__file__', None) or '' for module in new];"
        "print(*{file.partition('site-packages/')[2].partition('/')[0] for file in files})"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(plugin.SOURCES)},
    ).stdout.split()
    modules = {name.removesuffix(".py").removeprefix("py") for name in loaded}
    assert modules == {name.replace("-", "_").removeprefix("py") for name in plugin.PACKAGES}


def test_the_launcher_runs_the_archives_own_library_from_any_directory(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "__main__.py").write_text("import sys; print(sys.path[0], sys.argv[1:])")
    (tmp_path / "kubectl-partisan").write_bytes(plugin.launcher("run"))
    (tmp_path / "kubectl-partisan").chmod(0o755)
    (tmp_path / "bin").mkdir()
    link = tmp_path / "bin" / "kubectl-partisan"
    link.symlink_to("../kubectl-partisan")
    (tmp_path / "yaml.py").write_text("raise SystemExit('imported from the current directory')")
    environment = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "PYTHONPATH": str(tmp_path),
    }
    run = subprocess.run(
        [str(link), "status", "a b"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split()[1:] == ["['run',", "'status',", "'a", "b']"]
    assert Path(run.stdout.split()[0]).resolve() == tmp_path / "lib"


def test_without_a_python_the_launcher_names_the_versions(tmp_path: Path) -> None:
    program = tmp_path / "kubectl-partisan"
    program.write_bytes(plugin.launcher("run"))
    run = subprocess.run(
        ["/bin/sh", str(program)], env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert run.returncode == 1
    assert run.stderr == (
        "kubectl partisan: Python 3.11 to 3.14 is needed, and none is on the PATH\n"
    )


def test_wheels_of_several_pythons_share_a_directory() -> None:
    first = {"x/__init__.py": b"1", "x/core.cpython-311.so": b"a", "x-1.dist-info/WHEEL": b"311"}
    second = {"x/__init__.py": b"1", "x/core.cpython-312.so": b"b", "x-1.dist-info/WHEEL": b"312"}
    assert set(plugin.merged([first, second])) == {
        "x/__init__.py",
        "x/core.cpython-311.so",
        "x/core.cpython-312.so",
    }
    with pytest.raises(ReleaseError, match=r"differ in x/__init__\.py"):
        plugin.merged([first, {"x/__init__.py": b"2"}])


def test_krew_finds_an_archive_for_each_platform() -> None:
    digests = dict.fromkeys(plugin.PLATFORMS, "0" * 64)
    manifest = plugin.krew_manifest(PLAN, digests)
    assert manifest["metadata"] == {"name": "partisan"}
    spec = manifest["spec"]
    assert isinstance(spec, dict)
    assert spec["version"] == "v1.2.3"
    assert len(spec["shortDescription"]) <= 50
    selectors = [tuple(each["selector"]["matchLabels"].values()) for each in spec["platforms"]]
    assert sorted(set(selectors)) == sorted(selectors)
    for each in spec["platforms"]:
        assert each["bin"] in plugin.PROGRAMS
        assert each["uri"].startswith(PLAN.downloads)


def test_packages_are_read_from_the_files_that_managers_keep() -> None:
    status = "Package: libc6\nStatus: installed\nArchitecture: arm64\nVersion: 2.36-9\n\n"
    metadata = "Name: typing_extensions\nVersion: 4.16\nLicense-Expression: PSF-2.0\n\nText"
    files = {
        "var/lib/dpkg/status": status.encode(),
        "opt/x/typing_extensions-4.16.dist-info/METADATA": metadata.encode(),
        "opt/partisan/lib/crypto-5.5.3/ebin/crypto.app": b"",
        "opt/partisan/lib/crypto-5.5.3/ebin/crypto.beam": b"",
    }
    assert list(sbom.of_files(files.items())) == [
        Package("libc6", "2.36-9", "pkg:deb/debian/libc6@2.36-9?arch=arm64"),
        Package("typing_extensions", "4.16", "pkg:pypi/typing-extensions@4.16", licence="PSF-2.0"),
        Package("crypto", "5.5.3"),
    ]


def test_the_live_page_is_made_of_packages_of_the_lock() -> None:
    names = {package.name for package in sbom.of_npm()}
    assert {"preact", "sigma"} <= names
    assert "typescript" not in names


def test_a_list_of_contents_has_what_spdx_requires() -> None:
    packages = [Package("b", "2", "pkg:pypi/b@2"), Package("a", "1"), Package("a", "1")]
    text = sbom.document(PLAN, "operator", packages)
    assert text == sbom.document(PLAN, "operator", reversed(packages))
    found = json.loads(text)
    assert {"spdxVersion", "dataLicense", "name", "documentNamespace", "creationInfo"} <= set(found)
    assert [package["name"] for package in found["packages"]] == ["operator", "a", "b"]
    identifiers = {package["SPDXID"] for package in found["packages"]} | {sbom.DOCUMENT}
    assert len(identifiers) == 4
    for relation in found["relationships"]:
        assert {relation["spdxElementId"], relation["relatedSpdxElement"]} <= identifiers
    for package in found["packages"]:
        assert {"downloadLocation", "licenseDeclared", "copyrightText"} <= set(package)


def test_checksums_are_those_that_sha256sum_checks(plan: Plan) -> None:
    plan.file("bundle/metadata/a.yaml").write_text("a: 1\n")
    plan.file("install.yaml").write_text("kind: Namespace\n")
    found = write_sums(plan.directory)
    assert list(found) == ["bundle/metadata/a.yaml", "install.yaml"]
    argv = ["sha256sum", "--check", "--strict", "--quiet", SUMS]
    subprocess.run(argv, cwd=plan.directory, check=True)
    assert write_sums(plan.directory) == found


def test_files_that_differ_between_two_builds_are_named() -> None:
    first = {"a": "1", "b": "2", "c": "3"}
    assert command.different_files(first, {"a": "1", "b": "0", "d": "3"}) == ["b", "c", "d"]
    assert command.different_files(first, first) == []


CHANGES = """\
# Changelog

## [Unreleased]

### Added

- New.

## [0.2.0] - 2026-11-26

### Fixed

- Old.

## [0.1.0] - 2026-10-01

### Added

- First.
"""


def test_the_changelog_has_its_form() -> None:
    assert list(changelog.findings(changelog.CHANGELOG.read_text())) == []
    assert list(changelog.findings(CHANGES)) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("## [Unreleased]", "## Unreleased", "the first section"),
        (" - 2026-11-26", "", "has not the form"),
        ("0.2.0", "0.0.9", "falling order"),
        ("### Fixed", "### Repaired", "Repaired is none of"),
        ("- Old.", "", "without changes"),
        ("- Old.", "- Old.\n\n### Fixed\n\n- More.", "twice"),
    ],
)
def test_another_form_is_reported(old: str, new: str, message: str) -> None:
    assert any(message in found for found in changelog.findings(CHANGES.replace(old, new)))


def test_notes_are_the_changes_of_the_version_or_those_to_come() -> None:
    assert changelog.notes(CHANGES, "0.2.0") == "### Fixed\n\n- Old."
    assert changelog.notes(CHANGES, "0.3.0") == "### Added\n\n- New."
    with pytest.raises(ReleaseError, match=r"no changes of 0\.3\.0"):
        changelog.notes("# Changelog\n\n## [Unreleased]\n", "0.3.0")
