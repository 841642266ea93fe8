"""Reads the Secrets that a cluster's nodes and the operator share.

Their contents leave this module as `Credentials` only: an observation has their state alone.
"""

import base64
import binascii
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from partisan_operator.api.kube import Kube
from partisan_operator.children import tls_files
from partisan_operator.children.child import owned_by
from partisan_operator.children.shared_secrets import BEARER, TOKEN, SharedSecret
from partisan_operator.models import PartisanCluster
from partisan_operator.observe.observation import Endpoint, SecretSeen, SecretState, Trust


@dataclass(frozen=True)
class Credentials:
    """Credentials of orders; None where not requested, or where the Secret is missing."""

    bearer: str | None = field(repr=False)
    token: str | None = field(repr=False)

    def of(self, node: Endpoint) -> str | None:
        """Return the credential of an order to this node."""
        return self.bearer if node.bearer else self.token

    def reach(self, nodes: Iterable[Endpoint]) -> dict[Endpoint, str]:
        """Return the nodes that can be sent an order, with its credential."""
        return {node: shown for node in nodes if (shown := self.of(node)) is not None}


class SecretReader:
    """Reads Secrets, each when it is needed."""

    def __init__(self, kube: Kube) -> None:
        """Make a reader."""
        self._kube = kube

    async def token(
        self, cluster: PartisanCluster, running: Callable[[], Awaitable[bool]]
    ) -> SecretSeen:
        """Return the state of the token; `running` returns whether pods run with it.

        A second token would separate them from new pods.
        """
        seen = await self._seen(cluster, TOKEN)
        if seen.state is SecretState.ABSENT and await running():
            return SecretSeen(SecretState.LOST)
        return seen

    async def bearer(self, cluster: PartisanCluster) -> SecretSeen:
        """Return the state of the bearer. Running nodes accept a new one."""
        return await self._seen(cluster, BEARER)

    async def trust(self, cluster: PartisanCluster) -> Trust | None:
        """Return how nodes that serve TLS are verified; None without TLS."""
        name = tls_files.secret_name(cluster)
        if name is None:
            return None
        secret = await self._kube.get("Secret", cluster.namespace, name) or {}
        encoded = (secret.get("data") or {}).get(tls_files.AUTHORITIES, "")
        try:
            authorities = base64.b64decode(encoded).decode()
        except (binascii.Error, UnicodeDecodeError):
            authorities = ""
        return Trust(authorities, tls_files.server_name(cluster))

    async def credentials(self, cluster: PartisanCluster, nodes: Iterable[Endpoint]) -> Credentials:
        """Return the credentials of orders to these nodes.

        The token is read only for pods without the bearer.
        """
        kinds = {node.bearer for node in nodes}
        return Credentials(
            bearer=await self._value(cluster, BEARER) if True in kinds else None,
            token=await self._value(cluster, TOKEN) if False in kinds else None,
        )

    async def _value(self, cluster: PartisanCluster, kind: SharedSecret) -> str | None:
        secret = await self._get(cluster, kind)
        return None if secret is None else kind.value_in(secret)

    async def _seen(self, cluster: PartisanCluster, kind: SharedSecret) -> SecretSeen:
        secret = await self._get(cluster, kind)
        if secret is None:
            return SecretSeen(SecretState.ABSENT)
        return SecretSeen(_state_of(secret, kind, cluster.uid), secret["metadata"]["uid"])

    async def _get(self, cluster: PartisanCluster, kind: SharedSecret) -> Mapping[str, Any] | None:
        return await self._kube.get("Secret", cluster.namespace, kind.name_of(cluster.name))


def _state_of(secret: Mapping[str, Any], kind: SharedSecret, uid: str) -> SecretState:
    owners = secret["metadata"].get("ownerReferences") or ()
    owned = owned_by(secret, uid)
    if not owned and any(entry.get("controller") for entry in owners):
        return SecretState.FOREIGN
    if kind.value_in(secret) is None:
        return SecretState.INVALID
    return SecretState.VALID if owned else SecretState.UNOWNED
