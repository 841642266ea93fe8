"""A new user's path, as the pages type it, with the files of a release and nothing else installed.

Its steps: the release's manifest, a first cluster, an Elixir application with a volume and a port,
the application's next version, a backup and its restoration. Their seconds are results.
"""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from partisan_operator.cli import backup_file

from docs.tools import shell, snippets, words
from images.builder import build as builder
from images.builder.catalogue import ELIXIR
from images.release import chart, oci
from images.release.__main__ import push
from images.release.build import IMAGES
from images.release.plan import Plan
from images.release.version import version
from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment, load_images
from scale_tests.cluster.kube import core
from scale_tests.cluster.partisan import CLUSTER_LABEL
from scale_tests.cluster.subject import Subject
from scale_tests.cluster.wait import wait_for
from scale_tests.e2e.conftest import NewSubject
from scale_tests.e2e.reader import Block, Reader, blocks
from scale_tests.host import adoption
from scale_tests.host.commands import ROOT, capture

pytestmark = pytest.mark.alone(installs=True)
"""Replaces the operator that all tests rely on."""

INSTALL = ROOT / "docs" / "guides" / "install.md"
ELIXIR_APP = ROOT / "docs" / "tutorials" / "elixir-app.md"
BACKUP = Path("docs/guides/backup.md")

NODES = 3
"""Nodes of both clusters; the page on Elixir has so many."""

PORT = 9000
"""The application's, on the page."""

TEAM = "registry.example.com/team"
"""The page's registry of the user's own images."""

_DOCKER = re.compile(r"^docker (?:.*\\\n)*.*\n", re.MULTILINE)


@pytest.fixture
def release(environment: Environment, tmp_path: Path) -> Iterator[Plan]:
    """A release of the images that are under test, on a cluster without operator and CRD."""
    registry = environment.operator_image.rpartition("/")[0]
    plan = Plan(version=version(), registry=registry, directory=tmp_path / "release")
    provide_images(environment, plan)
    chart.write_manifest(plan)
    others = operator.uninstall(environment)
    assert not others, f"these clusters would be deleted with their CRD: {others}"
    yield plan
    # Whole, as Helm refuses objects that are not its own.
    manifest = str(plan.file("install.yaml"))
    operator.kubectl(environment, "delete", "--ignore-not-found", "-f", manifest)
    operator.install(environment)


@pytest.fixture
def reader(environment: Environment, namespace: str, release: Plan, tmp_path: Path) -> Reader:
    """A user with kubectl and its plugin, whose registry has the release and the application."""
    replacing = {
        TEAM: release.registry,
        "replicas: 32": f"replicas: {NODES}",
        "-n staging": f"-n {namespace}",
        "--timeout=5m": "--timeout=15m",
        # By itself it waits for ever, for a user who interrupts it.
        "rollout status greeters": "rollout status greeters --timeout 900",
    }
    return Reader(environment, tmp_path, namespace=namespace, replacing=replacing)


def provide_images(environment: Environment, plan: Plan) -> None:
    """Writes the release's archives, without other architectures, for the cluster to pull.

    Also two versions of the application, which differ in their names.
    """
    paths = []
    for image in IMAGES:
        paths.append(plan.file(f"{image.name}.oci.tar"))
        oci.write(paths[-1], plan.image(image.name), oci.read(image.archive), plan.labels)
    builder.build(ELIXIR)
    for tag in (1, 2):
        paths.append(plan.file(f"greeter-{tag}.oci.tar"))
        target = f"oci-archive:{paths[-1]}:{greeter(plan, tag)}"
        capture(["skopeo", "copy", "--quiet", f"oci-archive:{ELIXIR.archive}", target])
    if environment.local:
        load_images(*paths)
    else:
        push(plan)


def greeter(plan: Plan, tag: int) -> str:
    """The name of the application's image."""
    return f"{plan.registry}/greeter:{tag}"


def test_a_new_users_path_works_as_typed(
    reader: Reader, new_subject: NewSubject, release: Plan, tmp_path: Path
) -> None:
    ads, greeters = new_subject("ads"), new_subject("greeters")
    (install,) = blocks(INSTALL, "From a release")
    (first,) = blocks(INSTALL, "A cluster")
    deploy, upgrade = blocks(ELIXIR_APP, "On a Kubernetes of yours, with a volume and a port")
    seconds: dict[str, float] = {}

    with step(seconds, "install"):
        reader.follows(install, directory=release.directory)

    with step(seconds, "first cluster"):
        reader.follows(first)
    ads.wait_healthy(NODES)
    assert images(ads) == {release.image("erlang-node")}
    assert {node.version for node in ads.nodes()} == {release.version}

    with step(seconds, "application"):
        reader.follows(without_docker(deploy))
    assert images(greeters) == {greeter(release, 1)}
    assert {node.version for node in greeters.nodes()} == {release.version}
    before, kept = greeters.uids(), bound_claims(greeters)
    assert sorted(kept) == [f"data-greeters-{ordinal}" for ordinal in range(NODES)]
    for pod in before:
        in_node(greeters, pod, f"echo {pod} > /srv/data/written")
    wait_all_reached(greeters)

    with step(seconds, "upgrade"):
        reader.follows(upgrade)
    assert images(greeters) == {greeter(release, 2)}
    after = greeters.uids()
    assert after.keys() == before.keys()
    assert not set(after.values()) & set(before.values())
    assert bound_claims(greeters) == kept
    assert {pod: in_node(greeters, pod, "cat /srv/data/written") for pod in after} == {
        pod: pod for pod in before
    }
    wait_all_reached(greeters)

    take, restore = (shell.typed(block.text) for block in snippets.blocks(BACKUP, "console"))
    file = tmp_path / "ads.backup"
    ads.wait_counted(NODES * 3)
    with step(seconds, "backup"):
        assert f"from {NODES} nodes" in reader.types(take, directory=tmp_path)
    counts = backup_file.parse(file.read_bytes())
    ads.delete()
    assert not bound_claims(ads)
    with step(seconds, "restore"):
        written = reader.types(restore, directory=tmp_path)
        (field,) = re.findall(r"^ {2}restore: .*$", written, re.MULTILINE)
        reader.follows(with_field(first, field))
        ads.wait_counted(counts.total)
    ads.wait_healthy(NODES)
    reader.types(take, directory=tmp_path)
    restored = backup_file.parse(file.read_bytes()).entries
    assert restored.items() >= counts.entries.items()

    with adoption.updated() as results:
        results["path"] = {"version": release.version, "seconds": seconds}
        results["words"] = words.counted()


@contextmanager
def step(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Measures a step of the path."""
    print(f"path: {name}", flush=True)
    began = time.monotonic()
    yield
    seconds[name] = round(time.monotonic() - began, 1)


def without_docker(block: Block) -> Block:
    """A block without the build of the image, which `provide_images` has made elsewhere."""
    commands, left_out = _DOCKER.subn("", block.commands)
    assert left_out == 2, block.commands
    return replace(block, commands=commands)


def with_field(block: Block, line: str) -> Block:
    """A block whose manifest has another line in its spec."""
    return replace(block, commands=block.commands.replace("\nspec:\n", f"\nspec:\n{line}\n"))


def images(subject: Subject) -> set[str]:
    """The images of its nodes."""
    return {pod["spec"]["containers"][0]["image"] for pod in subject.pods().values()}


def in_node(subject: Subject, pod: str, script: str) -> str:
    """The output of a script in a node's container. Raises CommandError."""
    return subject.kubectl("exec", pod, "-c", "node", "--", "sh", "-c", script).strip()


def bound_claims(subject: Subject) -> dict[str, str]:
    """The identity of each of its claims by name. Raises AssertionError: one is not bound."""
    path = core(subject.namespace, "persistentvolumeclaims")
    items = subject.cluster.list(path, f"{CLUSTER_LABEL}={subject.name}")
    assert {item["status"]["phase"] for item in items} <= {"Bound"}
    return {item["metadata"]["name"]: item["metadata"]["uid"] for item in items}


def wait_all_reached(subject: Subject) -> None:
    """Waits until the Service of the application's port has all pods behind it."""
    name = f"{subject.name}-app"
    service = subject.cluster.get(core(subject.namespace, "services", name))
    assert [(port["name"], port["port"]) for port in service["spec"]["ports"]] == [("api", PORT)]
    slices = f"apis/discovery.k8s.io/v1/namespaces/{subject.namespace}/endpointslices"

    def ready() -> set[str]:
        return {
            endpoint["targetRef"]["name"]
            for item in subject.cluster.list(slices, f"kubernetes.io/service-name={name}")
            for endpoint in item.get("endpoints") or ()
            if endpoint["conditions"]["ready"]
        }

    wait_for(f"all pods behind {name}", ready, lambda pods: pods == set(subject.uids()))
