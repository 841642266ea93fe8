"""`backup NAME`: the state of the workload in one file, joined from the replicas of all nodes."""

import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from partisan_operator.cli import access, backup_file
from partisan_operator.cli.access import CommandError, Context
from partisan_operator.cli.backup_file import Backup, BackupError
from partisan_operator.cli.kubectl import Json, KubectlError
from partisan_operator.cli.text import plural, size

_PROGRESS = 128
"""Nodes between two lines of progress."""

_REASONS = {
    "NotFound": "its image is of a release without backups: upgrade it",
    "Conflict": "its workload has no callback backup/0, or the cluster is being deleted",
}
"""Why a node refuses, by the reason that kubectl gives."""


def run(context: Context, arguments: Namespace) -> int:
    """Write the backup."""
    cluster = access.cluster_of(context, arguments.name)
    if cluster.spec.workload is None:
        raise CommandError(f"{cluster.name} has no spec.workload, and so no state to back up")
    pods = access.pods_of(context, cluster.name)
    if not pods:
        raise CommandError(f"{cluster.name} has no pods, whose state could be backed up")
    found, failures = _replicas(context, pods)
    if not found or (failures and not arguments.partial):
        raise CommandError(_incomplete(failures, len(pods)))
    backup = _joined(found, cluster.name)
    data = backup.render()
    if len(data) > backup_file.MAX_BYTES:
        raise CommandError(
            f"the backup has {size(len(data))}, and the ConfigMap or Secret to restore it from"
            " holds 1 MiB: nothing was written; count fewer ads (workload.adCounter.ads)"
        )
    path: Path = arguments.output or Path(
        f"{cluster.namespace}-{cluster.name}-{context.now():%Y%m%d-%H%M%S}.backup"
    )
    if str(path) == "-":
        context.out.write(data.decode())
        return 0
    try:
        path.write_bytes(data)
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from None
    missing = f", without {plural(len(failures), 'node')}" if failures else ""
    context.write(
        f"{path}: {backup.total:,} in {plural(len(backup.entries), 'count')} from"
        f" {plural(len(found), 'node')}{missing}, {size(len(data))}\n"
        f"Restore it: kubectl partisan -n {context.namespace} restore {path} {cluster.name}"
    )
    return 0


def _replicas(context: Context, pods: Sequence[Json]) -> tuple[dict[str, Backup], dict[str, str]]:
    """Return the backup of each node's replica, and the errors of the others."""
    found: dict[str, Backup] = {}
    failures: dict[str, str] = {}
    with ThreadPoolExecutor(access.AT_ONCE) as executor:
        answers = executor.map(lambda pod: _replica(context, pod), pods)
        for count, (pod, answer) in enumerate(zip(pods, answers, strict=True), 1):
            node = pod["metadata"]["name"]
            if isinstance(answer, Backup):
                found[node] = answer
            else:
                failures[node] = answer
            if count % _PROGRESS == 0 and count < len(pods):
                sys.stderr.write(f"{count:,} of {plural(len(pods), 'node')}\n")
    return found, failures


def _replica(context: Context, pod: Json) -> Backup | str:
    """Return the backup of one node's replica, or why there is none."""
    try:
        return backup_file.parse(context.api.text(access.node_path(pod, "backup")).encode())
    except KubectlError as error:
        return _REASONS.get(error.reason, str(error))
    except BackupError as error:
        return f"its answer {error}"


def _incomplete(failures: Mapping[str, str], nodes: int) -> str:
    node, why = next(iter(failures.items()))
    return (
        f"{len(failures)} of {plural(nodes, 'node')} gave no backup, {node} for this reason:"
        f" {why}. Counts that these alone hold would be missing; --partial accepts that as long as"
        " one node answers"
    )


def _joined(found: Mapping[str, Backup], cluster: str) -> Backup:
    """Return the join of the replicas. Raises `CommandError` for replicas of different runs."""
    (first, backup), *others = found.items()
    for node, other in [(first, backup), *others]:
        if other.cluster != cluster:
            raise CommandError(f"{node} answers for the cluster {other.cluster}")
        if (other.workload, other.parameters) != (backup.workload, backup.parameters):
            raise CommandError(
                f"{first} and {node} run different workloads: wait until"
                f" kubectl partisan rollout status {cluster} reports that the change is complete"
            )
    return backup_file.join(found.values())
