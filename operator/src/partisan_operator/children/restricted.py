"""The Pod Security Standard `restricted`, as a check of a pod's spec.

The CRD refuses what contradicts it, field by field. This check is of the whole pod as it would be
created, whatever the CRD's release and wherever its parts come from.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from partisan_operator.models.volumes import KINDS

_Spec = Mapping[str, Any]

_HOST = ("hostNetwork", "hostPID", "hostIPC")
_ACTIONS = tuple(
    (*place, kind)
    for place in (
        ("livenessProbe",),
        ("readinessProbe",),
        ("startupProbe",),
        ("lifecycle", "postStart"),
        ("lifecycle", "preStop"),
    )
    for kind in ("httpGet", "tcpSocket")
)
"""Places of addresses that the kubelet connects to. Only the pod's own is allowed."""

_CONFINED = ("RuntimeDefault", "Localhost")
_SELINUX_TYPES = ("", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
_SYSCTLS = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
)


def violations(pod: _Spec) -> tuple[str, ...]:
    """Return the fields of a pod's spec that `restricted` forbids, and their values."""
    return (*_of_pod(pod), *(entry for place in _containers(pod) for entry in _of(*place, pod)))


def _containers(pod: _Spec) -> Iterator[tuple[str, _Spec]]:
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for container in pod.get(kind) or ():
            yield f"{kind}[{container['name']}]", container


def _of_pod(pod: _Spec) -> Iterator[str]:
    yield from (f"{field}: true" for field in _HOST if pod.get(field))
    for volume in pod.get("volumes") or ():
        kinds = sorted(volume.keys() - {"name"})
        if len(kinds) != 1 or kinds[0] not in KINDS:
            yield f"volumes[{volume['name']}]: {', '.join(kinds) or 'no kind'}"
    context = pod.get("securityContext") or {}
    for sysctl in context.get("sysctls") or ():
        if sysctl["name"] not in _SYSCTLS:
            yield f"securityContext.sysctls: {sysctl['name']}"
    yield from _of_context("securityContext", context)


def _of(place: str, container: _Spec, pod: _Spec) -> Iterator[str]:
    for port in container.get("ports") or ():
        if port.get("hostPort"):
            yield f"{place}.ports: hostPort {port['hostPort']}"
    for action in _ACTIONS:
        handler: Any = container
        for field in action:
            handler = (handler or {}).get(field)
        if (handler or {}).get("host"):
            yield f"{place}.{'.'.join(action)}.host: {handler['host']}"
    own = container.get("securityContext") or {}
    where = f"{place}.securityContext"
    yield from _of_context(where, own)
    if own.get("privileged"):
        yield f"{where}.privileged: true"
    if own.get("allowPrivilegeEscalation") is not False:
        yield f"{where}.allowPrivilegeEscalation: not false"
    if own.get("procMount") not in (None, "Default"):
        yield f"{where}.procMount: {own['procMount']}"
    capabilities = own.get("capabilities") or {}
    if "ALL" not in (capabilities.get("drop") or ()):
        yield f"{where}.capabilities.drop: without ALL"
    for added in capabilities.get("add") or ():
        if added != "NET_BIND_SERVICE":
            yield f"{where}.capabilities.add: {added}"
    whole = (pod.get("securityContext") or {}) | own
    if whole.get("runAsNonRoot") is not True:
        yield f"{where}.runAsNonRoot: not true"
    if (whole.get("seccompProfile") or {}).get("type") not in _CONFINED:
        yield f"{where}.seccompProfile: unconfined"


def _of_context(where: str, context: _Spec) -> Iterator[str]:
    """Yield what neither a pod's security context may have nor a container's."""
    if context.get("runAsUser") == 0:
        yield f"{where}.runAsUser: 0"
    if (context.get("windowsOptions") or {}).get("hostProcess"):
        yield f"{where}.windowsOptions.hostProcess: true"
    profile = (context.get("appArmorProfile") or {}).get("type")
    if profile not in (None, *_CONFINED):
        yield f"{where}.appArmorProfile: {profile}"
    selinux = context.get("seLinuxOptions") or {}
    if selinux.get("type", "") not in _SELINUX_TYPES or selinux.get("user") or selinux.get("role"):
        yield f"{where}.seLinuxOptions"
