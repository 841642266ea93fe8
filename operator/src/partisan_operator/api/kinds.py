"""The kinds of objects that are watched."""

from dataclasses import dataclass

from partisan_operator.children import certificate, pod_monitor
from partisan_operator.models.cluster import GROUP, PLURAL, VERSION


@dataclass(frozen=True)
class Kind:
    """A kind of objects that is watched."""

    group: str
    version: str
    plural: str
    defined: bool = False
    """Whether it needs a CRD: it may be served later, or not at all."""

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


CLUSTERS = Kind(GROUP, VERSION, PLURAL, defined=True)
CHILDREN = (
    Kind("apps", "v1", "statefulsets"),
    Kind("", "v1", "services"),
    Kind("", "v1", "configmaps"),
    Kind("policy", "v1", "poddisruptionbudgets"),
    Kind("networking.k8s.io", "v1", "networkpolicies"),
    Kind(pod_monitor.GROUP, pod_monitor.VERSION, "podmonitors", defined=True),
    Kind(certificate.GROUP, certificate.VERSION, "certificates", defined=True),
)
"""All kinds of children but Secrets: the right to watch them is the right to read all of them."""

NAMESPACES = Kind("", "v1", "namespaces")
"""Watched by an operator of all namespaces: the right to watch a single one does not exist."""

DEFINED = tuple(kind for kind in (CLUSTERS, *CHILDREN) if kind.defined)
