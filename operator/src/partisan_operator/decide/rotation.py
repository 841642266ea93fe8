"""When a cluster's own authority and certificate are replaced, and in which order.

Two Secrets hold all there is to know. NAME-ca holds the authority that signs, with its key.
NAME-tls, which the nodes mount, holds their one certificate and the authorities that they believe.
An authority is replaced in four steps, and each begins when every node uses what the last one
wrote:

    NAME-ca           NAME-tls: certificate of, believed
    old               old  {old}
    new               old  {old}
    new               old  {old, new}
    new               new  {old, new}
    new               new  {new}

So at any time every node believes the authority of the certificate that any other node shows. What
the next step is follows from what is there and from nothing else: whoever made the last one, and
whether it learnt that it did, makes no difference. A lost NAME-ca is a replacement like any other.

The key of the old authority is gone with the first step. A certificate of it that nears its end
while some node does not follow is replaced nevertheless, when half of `renew_before` is over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from partisan_operator.models.status import Rotation
from partisan_operator.observe.certificates import Certificate, NodesSecret, Store


@dataclass(frozen=True)
class Loaded:
    """What a node says it uses: fingerprints."""

    certificate: str
    believed: frozenset[str]


@dataclass(frozen=True)
class Policy:
    """What the spec asks for."""

    name: str
    """The DNS name that the certificate bears."""

    duration: timedelta
    """Of an authority."""

    certificate_duration: timedelta
    renew_before: timedelta
    """Before the end of the certificate."""


@dataclass(frozen=True)
class MakeAuthority:
    """Make an authority, and write NAME-ca."""

    replaces: str | None
    """The version of the Secret that it takes the place of; None: there is none."""


@dataclass(frozen=True)
class Publish:
    """Write NAME-tls."""

    believed: tuple[Certificate, ...]
    issuer: str | None
    """Fingerprint of the authority to sign a new certificate; None: the present one stays."""

    replaces: str | None
    """The version of the Secret that it takes the place of; None: there is none."""


Step = MakeAuthority | Publish


@dataclass(frozen=True)
class Outlook:
    """Where a cluster is, and what comes next."""

    step: Step | None
    rotation: Rotation
    behind: tuple[str, ...]
    """Pods that do not use what NAME-tls holds, or do not say so."""


def outlook(
    store: Store, policy: Policy, nodes: Mapping[str, Loaded | None], now: datetime
) -> Outlook:
    """Return what is to be done at `now`; `nodes` says of each pod what it uses, None: unknown."""
    behind = tuple(nodes) if store.nodes is None else _behind(store.nodes, nodes)
    step, rotation = _next(store, policy, everyone=not behind, now=now)
    return Outlook(step, rotation, behind)


def _next(
    store: Store, policy: Policy, *, everyone: bool, now: datetime
) -> tuple[Step | None, Rotation]:
    """Return the step and the state before it; `everyone`: all nodes use what NAME-tls holds."""
    authority, secret = store.authority, store.nodes
    beginning = Rotation.SETTLED if secret is None else Rotation.DISTRIBUTING
    if authority is None or authority.certificate is None:
        return MakeAuthority(None if authority is None else authority.version), beginning
    current = authority.certificate
    if now >= current.not_after - policy.certificate_duration:
        # Whatever it signed now would end before its time.
        return MakeAuthority(authority.version), beginning
    if secret is None:
        return Publish((current,), current.fingerprint, None), Rotation.SETTLED
    former = tuple(one for one in secret.believed if one.fingerprint != current.fingerprint)
    both = (*former, current)
    shown = secret.certificate
    if shown is None or not _serves(shown, both, policy):
        # No node could begin with it, and so nothing is lost by a new one.
        return Publish(both, current.fingerprint, secret.version), Rotation.REPLACING
    if len(both) > len(secret.believed):
        return Publish(both, None, secret.version), Rotation.DISTRIBUTING
    if shown.issuer != current.fingerprint:
        if everyone or now >= shown.not_after - policy.renew_before / 2:
            return Publish(both, current.fingerprint, secret.version), Rotation.REPLACING
        return None, Rotation.DISTRIBUTING
    rotation = Rotation.RETIRING if former else Rotation.SETTLED
    if now >= shown.not_after - policy.renew_before:
        return Publish(secret.believed, current.fingerprint, secret.version), rotation
    if former and (everyone or all(now >= one.not_after for one in former)):
        return Publish((current,), None, secret.version), rotation
    return None, rotation


def _serves(shown: Certificate, authorities: tuple[Certificate, ...], policy: Policy) -> bool:
    """Say whether the certificate is for the cluster's name and of one of these authorities."""
    known = {authority.fingerprint for authority in authorities}
    return policy.name in shown.names and shown.issuer in known


def _behind(secret: NodesSecret, nodes: Mapping[str, Loaded | None]) -> tuple[str, ...]:
    """Return the pods that do not use what the Secret holds."""
    if secret.certificate is None:
        return tuple(nodes)
    believed = frozenset(one.fingerprint for one in secret.believed)
    wanted = Loaded(secret.certificate.fingerprint, believed)
    return tuple(name for name, loaded in nodes.items() if loaded != wanted)
