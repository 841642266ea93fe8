"""`must-gather NAME`: a diagnostic bundle for people without access to the cluster.

It has the cluster and its children, pods with their logs, the nodes' reports, events, and the
operator's log. Errors are listed in `errors.txt` and do not stop the rest; secrets are removed
(`redaction`).
"""

from __future__ import annotations

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
    """Yield the logs of pods, also those of containers before their last restart."""
    for pod in pods:
        metadata = pod["metadata"]
        path = core(metadata["namespace"], "pods", f"{metadata['name']}/log")
        options = {"tailLines": str(LOG_LINES), "timestamps": "true"}
        yield f"{metadata['name']}.log", _text(context, path, **options)
        statuses = (pod.get("status") or {}).get("containerStatuses") or ()
        if any(entry.get("restartCount") for entry in statuses):
            previous = _text(context, path, **options, previous="true")
            yield f"{metadata['name']}.previous.log", previous


def _text(context: Context, path: str, **query: str) -> Callable[[], str]:
    return lambda: context.api.text(path, **query)
