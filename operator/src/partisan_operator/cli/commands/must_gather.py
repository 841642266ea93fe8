"""`must-gather NAME`: a diagnostic bundle for people without access to the cluster.

It has the cluster and its children, volumes, pods with the logs of all their containers, the nodes'
reports, events, and the operator's log. Errors are listed in `errors.txt` and do not stop the rest;
secrets are removed (`redaction`).
"""

import io
import tarfile
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from partisan_operator.children import naming, tls_files
from partisan_operator.cli import access
from partisan_operator.cli.access import CommandError, Context
from partisan_operator.cli.kubectl import Json, KubectlError, core
from partisan_operator.cli.redaction import Redactor, without_secrets
from partisan_operator.cli.text import plural, size
from partisan_operator.models import PartisanCluster
from partisan_operator.models.containers import OWN_CONTAINER

LOG_LINES = 2000
"""Most lines of each log."""

CHILDREN = {
    "statefulsets": "apis/apps/v1",
    "services": "api/v1",
    "configmaps": "api/v1",
    "endpointslices": "apis/discovery.k8s.io/v1",
    "poddisruptionbudgets": "apis/policy/v1",
    "networkpolicies": "apis/networking.k8s.io/v1",
}
"""Kinds of objects with the cluster's label that are saved, next to pods and Secrets."""

CERTIFICATES = {"certificates": "apis/cert-manager.io/v1"}
"""The same for a cluster with a certificate of cert-manager: elsewhere it may not be served."""

NODE_PAGES = {"status.json": "status", "metrics.txt": "metrics"}
"""Pages that are read from each node."""


@dataclass
class Archive:
    """The files, and errors of those that could not be read."""

    files: dict[str, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    def add(self, name: str, content: Callable[[], str]) -> None:
        """Add a file, or its error."""
        try:
            self.files[name] = content()
        except KubectlError as error:
            self.errors.append(f"{name}: {error}")


def run(context: Context, arguments: Namespace) -> int:
    """Write the archive."""
    cluster = access.cluster_of(context, arguments.name)
    stem = f"partisan-{cluster.namespace}-{cluster.name}-{context.now():%Y%m%d-%H%M%S}"
    path: Path = arguments.file or Path(f"{stem}.tar.gz")
    archive, redactor = gather(context, cluster)
    if archive.errors:
        archive.files["errors.txt"] = "\n".join(archive.errors) + "\n"
    try:
        pack(path, stem, archive.files, redactor, mtime=context.now().timestamp())
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from None
    missing = len(archive.errors)
    unread = f"; {plural(missing, 'thing')} could not be read: see errors.txt" if missing else ""
    context.write(
        f"{path}: {plural(len(archive.files), 'file')}, {size(path.stat().st_size)}{unread}"
    )
    return 0


def gather(context: Context, cluster: PartisanCluster) -> tuple[Archive, Redactor]:
    """Read all files, and the secrets to remove from them."""
    api, namespace, archive = context.api, context.namespace, Archive()
    labels = naming.selector(cluster.name)
    secrets = _secrets(context, cluster, archive)
    pods: list[Json] = []

    def objects(path: str, labels: str = "") -> Callable[[], str]:
        return lambda: access.yaml_text(
            *(without_secrets(item) for item in api.items(path, labels=labels))
        )

    def own_pods() -> str:
        pods.extend(access.pods_of(context, cluster.name))
        return access.yaml_text(*map(without_secrets, pods))

    archive.files["secrets.yaml"] = access.yaml_text(*map(without_secrets, secrets))
    archive.add("pods.yaml", own_pods)
    manifest = access.manifest_of(context, cluster.name)
    archive.files["cluster.yaml"] = access.yaml_text(without_secrets(manifest))
    tls = cluster.spec.security.tls
    issued = tls is not None and tls.issuer_ref is not None
    for kind, group in (CHILDREN | (CERTIFICATES if issued else {})).items():
        archive.add(f"{kind}.yaml", objects(f"{group}/namespaces/{namespace}/{kind}", labels))
    _volumes(context, cluster, archive, pods)
    archive.add("quotas.yaml", objects(core(namespace, "resourcequotas")))
    archive.add("machines.yaml", objects("api/v1/nodes"))
    archive.add("version.json", lambda: api.text("version"))
    archive.add("definition.yaml", lambda: access.yaml_text(without_secrets(api.get(access.CRD))))
    archive.add(
        "events.txt",
        lambda: "\n".join(map(access.event_line, access.events_of(context, cluster.name))) + "\n",
    )
    _operator(context, archive)
    _nodes(context, archive, pods)
    return archive, Redactor(secrets)


def pack(path: Path, stem: str, files: dict[str, str], redactor: Redactor, *, mtime: float) -> None:
    """Write the files, without secrets, below a directory `stem` of a tar.gz."""
    with tarfile.open(path, "w:gz") as tar:
        for name, text in sorted(files.items()):
            data = redactor.text(text).encode()
            entry = tarfile.TarInfo(f"{stem}/{name}")
            entry.size, entry.mtime = len(data), int(mtime)
            tar.addfile(entry, io.BytesIO(data))


def _secrets(context: Context, cluster: PartisanCluster, archive: Archive) -> list[Json]:
    """Read the cluster's Secrets: those with its label, and the one with the nodes' certificate."""
    found: list[Json] = []
    path = core(context.namespace, "secrets")
    tls = tls_files.secret_name(cluster)
    try:
        # Items of a list lack their kind.
        found += [
            {"kind": "Secret", **item}
            for item in context.api.items(path, labels=naming.selector(cluster.name))
        ]
        if tls is not None and tls not in {item["metadata"]["name"] for item in found}:
            found.append(context.api.get(f"{path}/{tls}"))
    except KubectlError as error:
        archive.errors.append(f"secrets.yaml: {error}")
    return found


def _volumes(
    context: Context, cluster: PartisanCluster, archive: Archive, pods: Iterable[Json]
) -> None:
    """Add the claims of the cluster, those of removed nodes included, and their volumes.

    Claims that the pods only name have no label of the cluster.
    """
    claims: list[Json] = []

    def own_claims() -> str:
        used = {
            volume["persistentVolumeClaim"]["claimName"]
            for pod in pods
            for volume in pod["spec"].get("volumes") or ()
            if "persistentVolumeClaim" in volume
        }
        for item in context.api.items(core(context.namespace, "persistentvolumeclaims")):
            metadata = item["metadata"]
            owner = (metadata.get("labels") or {}).get(naming.CLUSTER_LABEL)
            if owner == cluster.name or metadata["name"] in used:
                claims.append(item)
        return access.yaml_text(*map(without_secrets, claims))

    def own_volumes() -> str:
        bound = {claim["spec"]["volumeName"] for claim in claims if claim["spec"].get("volumeName")}
        volumes = context.api.items("api/v1/persistentvolumes") if bound else []
        own = (item for item in volumes if item["metadata"]["name"] in bound)
        return access.yaml_text(*map(without_secrets, own))

    archive.add("persistentvolumeclaims.yaml", own_claims)
    archive.add("persistentvolumes.yaml", own_volumes)


def _operator(context: Context, archive: Archive) -> None:
    """Add the operator's pods and logs, from its own namespace."""
    pods: list[Json] = []

    def read() -> str:
        pods.extend(context.api.items("api/v1/pods", labels=access.OPERATOR_LABELS))
        return access.yaml_text(*map(without_secrets, pods))

    archive.add("operator/pods.yaml", read)
    for name, content in _logs(context, pods):
        archive.add(f"operator/{name}", content)


def _nodes(context: Context, archive: Archive, pods: list[Json]) -> None:
    """Add each node's logs and pages, some at a time."""
    wanted = [(f"nodes/{name}", content) for name, content in _logs(context, pods)]
    for pod in pods:
        node = pod["metadata"]["name"]
        for suffix, page in NODE_PAGES.items():
            path = access.node_path(pod, page)
            wanted.append((f"nodes/{node}.{suffix}", _text(context, path)))
    with ThreadPoolExecutor(access.AT_ONCE) as executor:
        # list: an exception other than KubectlError must not be lost.
        list(executor.map(lambda entry: archive.add(*entry), wanted))


def _logs(context: Context, pods: Iterable[Json]) -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield the logs of all containers, also those before their last restart."""
    for pod in pods:
        metadata, status = pod["metadata"], pod.get("status") or {}
        path = core(metadata["namespace"], "pods", f"{metadata['name']}/log")
        statuses = (status.get("initContainerStatuses"), status.get("containerStatuses"))
        restarted = {
            entry["name"] for part in statuses for entry in part or () if entry.get("restartCount")
        }
        for stem, container in _containers(pod):
            options = {"container": container, "tailLines": str(LOG_LINES), "timestamps": "true"}
            yield f"{stem}.log", _text(context, path, **options)
            if container in restarted:
                yield f"{stem}.previous.log", _text(context, path, **options, previous="true")


def _containers(pod: Json) -> Iterator[tuple[str, str]]:
    """Yield the stem of each container's log, and its name.

    The main container's is the pod's name. Those of the others are in a folder of that name.
    """
    pod_name, spec = pod["metadata"]["name"], pod["spec"]
    names = [container["name"] for container in spec["containers"]]
    main = OWN_CONTAINER if OWN_CONTAINER in names else names[0]
    yield pod_name, main
    for name in (*(container["name"] for container in spec.get("initContainers") or ()), *names):
        if name != main:
            yield f"{pod_name}/{name}", name


def _text(context: Context, path: str, **query: str) -> Callable[[], str]:
    return lambda: context.api.text(path, **query)
