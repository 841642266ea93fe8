"""`restore FILE NAME`: writes a backup to a ConfigMap or Secret, and has the cluster start from it.

Everything is checked before anything is written: the file, then the change of the spec by the API
server.
"""

import base64
from argparse import Namespace
from pathlib import Path

from partisan_operator.children.erlang_terms import Atom
from partisan_operator.children.node_config import parameters
from partisan_operator.cli import access, backup_file
from partisan_operator.cli.access import CommandError, Context
from partisan_operator.cli.backup_file import Backup, BackupError
from partisan_operator.cli.kubectl import Json, KubectlError, core
from partisan_operator.cli.text import plural
from partisan_operator.models import PartisanCluster
from partisan_operator.models.restore import BACKUP_KEY

_UNCHANGED = "Nothing was changed"


def run(context: Context, arguments: Namespace) -> int:
    """Write the object, and name it in the cluster's spec where the cluster exists."""
    path: Path = arguments.file
    data, backup = _read(path)
    name: str = arguments.name
    if backup.cluster != name:
        raise CommandError(
            f"{path} is of the cluster {backup.cluster}, whose nodes have other names: restore it"
            f" into a cluster {backup.cluster}, in any namespace. {_UNCHANGED}"
        )
    cluster = _cluster(context, name)
    if cluster is not None:
        _check(path, backup, cluster)
    kind = "Secret" if arguments.secret else "ConfigMap"
    own_name: str = arguments.object or f"{name}-backup-{backup_file.checksum(data)[:8]}"
    member, other = ("secret", "configMap") if arguments.secret else ("configMap", "secret")
    patch = {"spec": {"restore": {member: own_name, other: None}}}
    where = (context.namespace, access.RESOURCE, name)
    try:
        if cluster is not None:
            context.api.merge(*where, patch, dry_run=True)
        manifest = _manifest(kind, context.namespace, own_name, data)
        _create(context, manifest, dry_run=arguments.dry_run)
    except KubectlError as error:
        raise CommandError(f"refused, nothing was changed: {error}") from None
    found = f"{backup.total:,} in {plural(len(backup.entries), 'count')}, taken {backup.taken}"
    if arguments.dry_run:
        context.write(f"{path}: {found}\nThe API server accepts it. {_UNCHANGED} (--dry-run).")
        return 0
    context.write(f"{kind} {own_name}: {found}")
    if cluster is None:
        context.write(
            f"There is no PartisanCluster {name} in namespace {context.namespace}. Add this to its"
            f" spec and apply it:\n  restore: {{{member}: {own_name}}}"
        )
        return 0
    context.api.merge(*where, patch)
    access.follow(context, cluster, "The nodes restart in batches and join it to what they hold.")
    return 0


def _read(path: Path) -> tuple[bytes, Backup]:
    try:
        with path.open("rb") as file:
            data = file.read(backup_file.MAX_BYTES + 1)
        return data, backup_file.parse(data)
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}") from None
    except BackupError as error:
        raise CommandError(f"{path} {error}. {_UNCHANGED}: use another backup") from None


def _cluster(context: Context, name: str) -> PartisanCluster | None:
    """Return the cluster; None if it does not exist, as after its deletion."""
    try:
        manifest = context.api.get(access.clusters_path(context.namespace, access.checked(name)))
    except KubectlError as error:
        if error.reason == "NotFound":
            return None
        raise
    return access.read(manifest)


def _check(path: Path, backup: Backup, cluster: PartisanCluster) -> None:
    """Raise `CommandError` for a backup of another workload, or of other parameters.

    Those of a custom workload are left to its nodes, which know its defaults.
    """
    workload = cluster.spec.workload
    if workload is None or workload.module != backup.workload:
        runs = "has no workload" if workload is None else f"runs {workload.module}"
        raise CommandError(
            f"{path} is of the workload {backup.workload}, and {cluster.name} {runs}. {_UNCHANGED}"
        )
    if workload.ad_counter is None:
        return
    own = {
        key.name: value.name if isinstance(value, Atom) else str(value)
        for key, value in parameters(workload).items()
    }
    for name, value in backup.parameters.items():
        if own.get(name) != value:
            raise CommandError(
                f"{path} is of a run with {name} {value}, and spec.workload has"
                f" {own.get(name, 'none')}: set it as the backup has it. {_UNCHANGED}"
            )


def _create(context: Context, manifest: Json, *, dry_run: bool) -> None:
    """Create the object, unless it exists with this very backup.

    Another one is left alone, for it may be of another use, and would be immutable. Raises
    `CommandError` then.
    """
    try:
        context.api.create(manifest, dry_run=dry_run)
    except KubectlError as error:
        if error.reason != "AlreadyExists":
            raise
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        live = context.api.get(core(context.namespace, f"{kind.lower()}s", name))
        if live.get("data") != manifest["data"] or live.get("binaryData"):
            raise CommandError(
                f"{kind} {name} exists and is not this backup: choose another name with --object,"
                f" or delete it. {_UNCHANGED}"
            ) from None


def _manifest(kind: str, namespace: str, name: str, data: bytes) -> Json:
    """Return the object. It is not owned by the cluster, with which it would be deleted."""
    value = base64.b64encode(data).decode() if kind == "Secret" else data.decode()
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "immutable": True,
        "data": {BACKUP_KEY: value},
    }
