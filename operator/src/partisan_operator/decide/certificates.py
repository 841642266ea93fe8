"""The plan for the nodes' certificate, from any issuer: its actions, and their obstacles."""

from dataclasses import dataclass
from datetime import timedelta

from partisan_operator.children import Child, certificate, naming, tls_files
from partisan_operator.children.child import owned_by, up_to_date
from partisan_operator.children.orphan import Orphan, orphan_of
from partisan_operator.decide.problems import name_conflict
from partisan_operator.decide.rotation import Loaded, Outlook, Policy, Step, outlook
from partisan_operator.models import PartisanCluster
from partisan_operator.models.problem import Problem, Reason, shortened
from partisan_operator.models.quantities import milliseconds
from partisan_operator.models.security import ClusterCa
from partisan_operator.models.status import Rotation
from partisan_operator.observe.certificates import Issued, Store
from partisan_operator.observe.observation import Observation


@dataclass(frozen=True)
class CertificatePlan:
    """Actions for a cluster's certificate. None where the user provides it."""

    children: tuple[Child, ...] = ()
    """To be applied."""

    outlook: Outlook | None = None
    """Of the cluster's own authority."""

    startable: bool = True
    """Whether the Secret exists that pods mount."""

    waiting: str = ""
    """The reason why the Secret is missing, which may resolve itself."""

    problem: Problem | None = None
    """The obstacle to the certificate, but not to other actions."""

    conflict: Problem | None = None
    """A foreign object with the name of one of the cluster's objects."""

    orphans: tuple[Orphan, ...] = ()
    """To be adopted before anything else."""

    @property
    def step(self) -> Step | None:
        """The next step of the cluster's own authority."""
        return None if self.outlook is None else self.outlook.step

    @property
    def unsettled(self) -> bool:
        """Whether an action or an event is pending."""
        settled = self.outlook is None or self.outlook.rotation is Rotation.SETTLED
        obstacle = self.problem or self.conflict
        done = self.step is None and not (self.children or self.orphans) and self.startable
        return not (settled and done and obstacle is None)


def certificate_plan(cluster: PartisanCluster, observation: Observation) -> CertificatePlan:
    """Return the plan for the certificate, from an observation."""
    tls, seen = cluster.spec.security.tls, observation.tls
    if tls is None or tls.secret_name is not None:
        return CertificatePlan()
    if tls.cluster_ca is not None and isinstance(seen, Store):
        return _own_authority(cluster, tls.cluster_ca, seen, observation)
    if isinstance(seen, Issued):
        return _issued(cluster, seen)
    return CertificatePlan(startable=False, waiting="the operator has not observed it yet")


def policy_of(cluster: PartisanCluster, ca: ClusterCa) -> Policy:
    """Return the policy of the cluster's own authority."""
    return Policy(
        name=tls_files.server_name(cluster),
        duration=_time(ca.duration),
        certificate_duration=_time(ca.certificate_duration),
        renew_before=_time(ca.renew_before),
    )


def _time(lifetime: str) -> timedelta:
    return timedelta(milliseconds=milliseconds(lifetime))


def _own_authority(
    cluster: PartisanCluster, ca: ClusterCa, store: Store, observation: Observation
) -> CertificatePlan:
    startable = store.nodes is not None and store.nodes.certificate is not None
    if store.foreign:
        name = store.foreign[0]
        return CertificatePlan(startable=startable, conflict=name_conflict("Secret", name))
    if store.orphans:
        return CertificatePlan(startable=startable, orphans=store.orphans)
    return CertificatePlan(
        outlook=outlook(
            store, policy_of(cluster, ca), _loaded(cluster, observation), observation.at
        ),
        startable=startable,
        waiting="" if startable else "the operator is about to make it",
    )


def _loaded(cluster: PartisanCluster, observation: Observation) -> dict[str, Loaded | None]:
    """Return the certificate that each pod, wanted or existing, reports to use."""
    wanted = naming.pod_names(cluster.name, cluster.spec.replicas)
    names = tuple(dict.fromkeys((*wanted, *observation.endpoints)))
    reports = observation.reports(names)
    reported = {name: report.tls for name, report in reports.items() if report.tls is not None}
    return {
        name: Loaded(reported[name].certificate, frozenset(reported[name].authorities))
        if name in reported
        else None
        for name in names
    }


def _issued(cluster: PartisanCluster, seen: Issued) -> CertificatePlan:
    wanted = certificate.build(cluster)
    if wanted is None:
        return CertificatePlan()
    secret, name = seen.secret, tls_files.made_secret_name(cluster.name)
    startable = secret is not None and not secret.missing
    if seen.refusal:
        return CertificatePlan(
            startable=startable,
            problem=Problem(
                Reason.CERT_MANAGER_UNAVAILABLE,
                "spec.security.tls.issuerRef needs cert-manager, but the API server does not"
                f" list Certificates: {shortened(seen.refusal)}. Install cert-manager, or check"
                " the operator's rights.",
            ),
        )
    if seen.live is not None and not owned_by(seen.live, cluster.uid):
        orphan = orphan_of(certificate.KIND, seen.live, cluster.name)
        if orphan is not None:
            return CertificatePlan(startable=startable, orphans=(orphan,))
        conflict = name_conflict(certificate.KIND, wanted.name)
        return CertificatePlan(startable=startable, conflict=conflict)
    if secret is not None and secret.certificate != wanted.name:
        return CertificatePlan(startable=startable, conflict=name_conflict("Secret", name))
    applied = seen.live is not None and up_to_date(wanted, seen.live)
    return CertificatePlan(
        children=(
            *([] if applied else [wanted]),
            *(
                []
                if secret is None or secret.owned
                else [certificate.adoption(cluster, secret.uid)]
            ),
        ),
        startable=startable,
        waiting="" if startable else _waiting(wanted.name, seen),
    )


def _waiting(name: str, seen: Issued) -> str:
    """Return why the Secret that pods mount does not exist yet."""
    if seen.secret is not None:
        missing = " and no ".join(seen.secret.missing)
        return f"cert-manager's Secret has no {missing}, and the issuer must provide its root"
    answer = "" if seen.live is None else shortened(certificate.obstacle(seen.live))
    why = answer or "cert-manager is about to write it"
    return f"{why}. See kubectl describe certificates.cert-manager.io {name}"
