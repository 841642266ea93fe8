"""A cluster with its own authority, as far as a rotation can observe and change it."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from partisan_operator.decide.rotation import (
    Loaded,
    MakeAuthority,
    Outlook,
    Policy,
    Publish,
    Step,
    outlook,
)
from partisan_operator.models.status import Rotation
from partisan_operator.observe.certificates import AuthoritySecret, Certificate, NodesSecret, Store
from world import START

DAY = timedelta(days=1)
POLICY = Policy("ads.default.svc", 365 * DAY, 90 * DAY, 30 * DAY)


@dataclass
class Cluster:
    """Both Secrets, and nodes that read theirs when a test says so."""

    store: Store = field(default_factory=Store)
    nodes: dict[str, Loaded | None] = field(default_factory=dict)
    now: datetime = START
    issuers: dict[str, str] = field(default_factory=dict)
    overdue: bool = False
    """Whether a certificate was ever replaced without waiting for every node."""

    number: int = 0
    """Of the last name that was given."""

    def copy(self) -> "Cluster":
        """Return a cluster that changes by itself."""
        return replace(self, nodes=dict(self.nodes), issuers=dict(self.issuers))

    def observe(self) -> Outlook:
        return outlook(self.store, POLICY, self.nodes, self.now)

    def act(self) -> Step | None:
        """Do what is due, as an operator without state."""
        seen = self.observe()
        match seen.step:
            case Publish(_, issuer, _):
                if issuer is not None and seen.behind and seen.rotation is Rotation.REPLACING:
                    self.overdue = True
        if seen.step is not None:
            assert self.perform(seen.step)
        return seen.step

    def perform(self, step: Step) -> bool:
        """Write a Secret; refused if another version than the replaced one exists."""
        match step:
            case MakeAuthority(replaces):
                present = self.store.authority
                if replaces != (present and present.version):
                    return False
                name = self._name("ca")
                made = Certificate(name, name, self.now + POLICY.duration)
                made_secret = AuthoritySecret(self._name("version"), made)
                self.store = replace(self.store, authority=made_secret)
            case Publish(trusted, issuer, replaces):
                secret = self.store.nodes
                if replaces != (secret and secret.version):
                    return False
                shown = secret and secret.certificate
                if issuer is not None:
                    shown = self._issued(issuer)
                    if shown is None:
                        return False
                version = self._name("version")
                self.store = replace(self.store, nodes=NodesSecret(version, shown, trusted))
        return True

    def _issued(self, issuer: str) -> Certificate | None:
        """Return a new certificate of that authority; None if another one has its place."""
        authority = self.store.authority and self.store.authority.certificate
        if authority is None or authority.fingerprint != issuer:
            return None
        name = self._name("certificate")
        self.issuers[name] = issuer
        end = min(self.now + POLICY.certificate_duration, authority.not_after)
        return Certificate(name, issuer, end, frozenset({POLICY.name}))

    def load(self, node: str) -> None:
        """Let a node read the present Secret."""
        self.read(node, self.store.nodes)

    def read(self, node: str, secret: NodesSecret | None) -> None:
        """Let a node read its files; it keeps the previous ones if they are unusable."""
        if secret and secret.certificate and secret.certificate.not_after > self.now:
            trusted = frozenset(one.fingerprint for one in secret.trusted)
            self.nodes[node] = Loaded(secret.certificate.fingerprint, trusted)

    def settle(self) -> None:
        """Run rounds until nothing is due."""
        for _ in range(8):
            step = self.act()
            for node in self.nodes:
                self.load(node)
            if step is None and self.observe().step is None:
                return
        raise AssertionError("it does not come to rest")

    def connects(self) -> bool:
        """Whether every node trusts the certificate of every other."""
        up = [loaded for loaded in self.nodes.values() if loaded is not None]
        return all(self.issuers[a.certificate] in b.trusted for a in up for b in up)

    def _name(self, what: str) -> str:
        self.number += 1
        return f"{what}-{self.number}"


def settled(nodes: int = 3) -> Cluster:
    """Return a cluster whose nodes all use the first certificate."""
    cluster = Cluster(nodes=dict.fromkeys((f"ads-{i}" for i in range(nodes)), None))
    cluster.settle()
    return cluster
