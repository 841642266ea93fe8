"""When a cluster's own authority and certificate are replaced, and in which order.

Two Secrets hold the whole state. NAME-ca has the authority that signs, with its key. NAME-tls,
which the nodes mount, has their one certificate and the authorities that they trust. An authority
is replaced in four steps, each of which begins when every node uses what the last one wrote:

    NAME-ca           NAME-tls: certificate of, trusted
    old               old  {old}
    new               old  {old}
    new               old  {old, new}
    new               new  {old, new}
    new               new  {new}

So every node always trusts the authority of any other node's certificate. The next step follows
from the Secrets alone, so neither an operator that fails between two steps nor a lost NAME-ca is a
special case.

The first step destroys the key of the old authority. If its certificate nears its end while some
node does not follow, the certificate is replaced anyway after half of `renew_before`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from partisan_operator.models.status import Rotation
from partisan_operator.observe.certificates import Certificate, NodesSecret, Store


@dataclass(frozen=True)
class Loaded:
    """Fingerprints of the certificate and authorities that a node reports to use."""

    certificate: str
    trusted: frozenset[str]


@dataclass(frozen=True)
class Policy:
    """Names and lifetimes that the spec asks for."""

    name: str
    """The DNS name in the certificate."""

    duration: timedelta
    """Of an authority."""

    certificate_duration: timedelta
    renew_before: timedelta
    """Before the end of the certificate."""


@dataclass(frozen=True)
class MakeAuthority:
    """Generate an authority, and write NAME-ca."""

    replaces: str | None
    """Version of the Secret that it replaces; None: there is none."""


@dataclass(frozen=True)
class Publish:
    """Write NAME-tls."""

    trusted: tuple[Certificate, ...]
    issuer: str | None
    """Fingerprint of the authority to sign a new certificate; None: the present one stays."""

    replaces: str | None
    """Version of the Secret that it replaces; None: there is none."""


Step = MakeAuthority | Publish


@dataclass(frozen=True)
class Outlook:
    """The state of a rotation, and its next step."""

    step: Step | None
    rotation: Rotation
    behind: tuple[str, ...]
    """Pods that do not report to use what NAME-tls holds."""


def outlook(
    store: Store, policy: Policy, nodes: Mapping[str, Loaded | None], now: datetime
) -> Outlook:
    """Return the next step at `now`; `nodes` maps each pod to what it uses, None if unknown."""
    behind = tuple(nodes) if store.nodes is None else _behind(store.nodes, nodes)
    step, rotation = _next(store, policy, followed=not behind, now=now)
    return Outlook(step, rotation, behind)


def _next(
    store: Store, policy: Policy, *, followed: bool, now: datetime
) -> tuple[Step | None, Rotation]:
    """Return the step and the present state; `followed`: all nodes use what NAME-tls holds."""
    authority, secret = store.authority, store.nodes
    beginning = Rotation.SETTLED if secret is None else Rotation.DISTRIBUTING
    if authority is None or authority.certificate is None:
        return MakeAuthority(None if authority is None else authority.version), beginning
    current = authority.certificate
    if now >= current.not_after - policy.certificate_duration:
        # A certificate signed by it now would end early.
        return MakeAuthority(authority.version), beginning
    if secret is None:
        return Publish((current,), current.fingerprint, None), Rotation.SETTLED
    previous = tuple(one for one in secret.trusted if one.fingerprint != current.fingerprint)
    both = (*previous, current)
    shown = secret.certificate
    if shown is None or not _serves(shown, both, policy):
        # No node can use it, so replacing it breaks nothing.
        return Publish(both, current.fingerprint, secret.version), Rotation.REPLACING
    if len(both) > len(secret.trusted):
        return Publish(both, None, secret.version), Rotation.DISTRIBUTING
    if shown.issuer != current.fingerprint:
        if followed or now >= shown.not_after - policy.renew_before / 2:
            return Publish(both, current.fingerprint, secret.version), Rotation.REPLACING
        return None, Rotation.DISTRIBUTING
    rotation = Rotation.RETIRING if previous else Rotation.SETTLED
    if now >= shown.not_after - policy.renew_before:
        return Publish(secret.trusted, current.fingerprint, secret.version), rotation
    if previous and (followed or all(now >= one.not_after for one in previous)):
        return Publish((current,), None, secret.version), rotation
    return None, rotation


def _serves(shown: Certificate, authorities: tuple[Certificate, ...], policy: Policy) -> bool:
    """Whether the certificate has the cluster's name and is from one of these authorities."""
    known = {authority.fingerprint for authority in authorities}
    return policy.name in shown.names and shown.issuer in known


def _behind(secret: NodesSecret, nodes: Mapping[str, Loaded | None]) -> tuple[str, ...]:
    """Return the pods that do not use what the Secret holds."""
    if secret.certificate is None:
        return tuple(nodes)
    trusted = frozenset(one.fingerprint for one in secret.trusted)
    wanted = Loaded(secret.certificate.fingerprint, trusted)
    return tuple(name for name, loaded in nodes.items() if loaded != wanted)
