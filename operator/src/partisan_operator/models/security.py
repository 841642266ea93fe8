"""How nodes authenticate each other."""

from pydantic import ConfigDict

from partisan_operator.models.base import Resource, Rule, rules
from partisan_operator.models.names import ApiGroup, HostName, KindName, ObjectName
from partisan_operator.models.quantities import Lifetime

_SOURCES = ("secretName", "issuerRef", "clusterCa")


class IssuerRef(Resource):
    """An issuer of cert-manager, or one that implements its interface."""

    name: ObjectName
    """Name of the issuer; an Issuer is in the namespace of the cluster. cert-manager must write the
    root of its authority to ca.crt of the Secret, as it does for a CA issuer."""

    kind: KindName = "Issuer"
    """Kind of the issuer: Issuer, ClusterIssuer or the kind of an external issuer."""

    group: ApiGroup = "cert-manager.io"
    """API group of the issuer."""


class ClusterCa(Resource):
    """A certificate authority of this cluster alone, created and replaced by the operator."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "duration(self.certificateDuration) + duration(self.certificateDuration)"
                " <= duration(self.duration)",
                "certificateDuration must be at most half of duration, because an authority is"
                " replaced while it can still issue a whole certificate: lower"
                " certificateDuration or raise duration",
                ".certificateDuration",
            ),
            Rule(
                "duration(self.renewBefore) + duration(self.renewBefore)"
                " <= duration(self.certificateDuration)",
                "renewBefore must be at most half of certificateDuration: lower renewBefore or"
                " raise certificateDuration",
                ".renewBefore",
            ),
        )
    )

    duration: Lifetime = "8760h"
    """How long an authority is valid. It is replaced certificateDuration before its end: first all
    nodes trust both authorities, then they use a certificate of the new one, then they trust the
    new one alone. Takes effect with the next authority."""

    certificate_duration: Lifetime = "2160h"
    """How long the nodes' certificate is valid. Takes effect with the next certificate."""

    renew_before: Lifetime = "720h"
    """How long before its end the certificate is renewed. A certificate of a new authority waits up
    to half of this time for nodes that do not trust that authority yet."""


class Tls(Resource):
    """TLS 1.3 on every connection between nodes, each side with a certificate, and on port 8080.

    A union: the one member that is set is the source of the certificate.
    """

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                f"[{', '.join(f'has(self.{name})' for name in _SOURCES)}]"
                ".filter(given, given).size() == 1",
                "security.tls needs exactly one of secretName (a Secret of your own), issuerRef"
                " (an issuer of cert-manager) and clusterCa (an authority that the operator makes)",
            ),
            Rule(
                " && ".join(f"has(self.{name}) == has(oldSelf.{name})" for name in _SOURCES),
                "security.tls cannot move between secretName, issuerRef and clusterCa, because"
                " nodes with certificates of different authorities do not connect: delete and"
                " recreate the cluster",
            ),
            Rule(
                "!has(self.clusterCa) || !has(self.serverName) || self.serverName == ''",
                "security.tls.serverName is for certificates of other issuers, and clusterCa"
                " issues for NAME.NAMESPACE.svc: remove serverName",
                ".serverName",
            ),
            Rule(
                "(has(self.serverName) ? self.serverName : '')"
                " == (has(oldSelf.serverName) ? oldSelf.serverName : '')",
                "security.tls.serverName cannot change, because nodes that expect different"
                " names do not connect: set it back, or delete and recreate the cluster",
                ".serverName",
            ),
            Rule(
                "!has(self.secretName) || !has(oldSelf.secretName)"
                " || self.secretName == oldSelf.secretName",
                "security.tls.secretName cannot change, because nodes with certificates of"
                " different authorities do not connect: write the new certificate into the same"
                " Secret, or delete and recreate the cluster",
                ".secretName",
            ),
            Rule(
                "!has(self.issuerRef) || !has(oldSelf.issuerRef)"
                " || self.issuerRef == oldSelf.issuerRef",
                "security.tls.issuerRef cannot change, because nodes with certificates of"
                " different authorities do not connect: set it back, or delete and recreate the"
                " cluster",
                ".issuerRef",
            ),
        )
    )

    secret_name: ObjectName | None = None
    """Secret in the namespace of the cluster that holds tls.crt, tls.key and ca.crt, as
    cert-manager writes it. All nodes use it; the certificate is for server and client
    authentication, and ca.crt holds its root. Nodes reload it when it changes. The name itself
    cannot change."""

    issuer_ref: IssuerRef | None = None
    """The issuer of cert-manager that signs the nodes' certificate. The operator creates a
    Certificate with the cluster's name; cert-manager maintains the Secret NAME-tls. Cannot
    change."""

    cluster_ca: ClusterCa | None = None
    """The operator creates an authority (Secret NAME-ca, which no pod mounts) and the nodes'
    certificate (Secret NAME-tls), and replaces both in time. `{}` means all defaults."""

    server_name: HostName = ""
    """DNS name in the certificates of all nodes. Empty means NAME.NAMESPACE.svc. Cannot change."""


class Security(Resource):
    """How nodes authenticate each other.

    The cluster's token is always required.
    """

    tls: Tls | None = None
    """TLS on every connection between nodes and on their port 8080; exactly one of secretName,
    issuerRef and clusterCa is the source of the certificate, and cannot be changed. Absent
    means no TLS: connections are authenticated by the cluster's token and not encrypted. TLS can be
    neither added nor removed later."""
