"""A problem of a cluster: the reason and message of its condition `Degraded`."""

from dataclasses import dataclass
from enum import StrEnum

_MAX_DETAIL = 400
"""Characters of a quoted message."""


class Reason(StrEnum):
    """Reasons of a problem. The first one that applies is reported."""

    INVALID_SPEC = "InvalidSpec"
    RECONCILE_FAILED = "ReconcileFailed"
    NAME_CONFLICT = "NameConflict"
    TOKEN_INVALID = "TokenInvalid"
    TOKEN_LOST = "TokenLost"
    TOKEN_MISMATCH = "TokenMismatch"
    BEARER_INVALID = "BearerInvalid"
    BEARER_REFUSED = "BearerRefused"
    SCALE_DOWN_REFUSED = "ScaleDownRefused"
    OVERRIDE_REFUSED = "OverrideRefused"
    APPLY_FAILED = "ApplyFailed"
    CONFIGURATION_REFUSED = "ConfigurationRefused"
    QUOTA_EXCEEDED = "QuotaExceeded"
    POD_REJECTED = "PodRejected"
    IMAGE_PULL_FAILED = "ImagePullFailed"
    CONTAINER_CONFIG_ERROR = "ContainerConfigError"
    MOUNT_FAILED = "MountFailed"
    TLS_SECRET_UNUSABLE = "TlsSecretUnusable"
    CERT_MANAGER_UNAVAILABLE = "CertManagerUnavailable"
    CERTIFICATE_NOT_ISSUED = "CertificateNotIssued"
    MACHINE_LOST = "MachineLost"
    BACKUP_REFUSED = "BackupRefused"
    CRASH_LOOPING = "CrashLooping"
    UNSCHEDULABLE = "Unschedulable"
    POD_NOT_STARTING = "PodNotStarting"
    NODE_NOT_JOINING = "NodeNotJoining"
    NODES_SILENT = "NodesSilent"
    OVERLAY_PARTITIONED = "OverlayPartitioned"
    POD_MONITOR_UNAVAILABLE = "PodMonitorUnavailable"


UNFOLLOWED = (
    Reason.INVALID_SPEC,
    Reason.NAME_CONFLICT,
    Reason.TOKEN_INVALID,
    Reason.BEARER_INVALID,
    Reason.OVERRIDE_REFUSED,
)
"""Reasons with which nothing of the spec is followed."""


@dataclass(frozen=True)
class Problem:
    """A problem of one cluster."""

    reason: str
    """A `Reason`; of an operator of another version, it may be none of these."""

    message: str
    transient: bool = False
    """Whether it may resolve itself; it is reported only if it persists."""


def shortened(text: str) -> str:
    """Return text on one line, of bounded length, without a full stop."""
    line = " ".join(text.split()).rstrip(".")
    return line if len(line) <= _MAX_DETAIL else f"{line[: _MAX_DETAIL - 3]}..."
