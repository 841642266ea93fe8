"""Carries out the steps of a certificate plan. Keys stay here and in Secrets."""

import logging
from collections.abc import Callable
from datetime import datetime

from partisan_operator.act import mint
from partisan_operator.api.errors import KubeError
from partisan_operator.api.kube import Kube
from partisan_operator.children import Child, credentials, tls_files
from partisan_operator.decide.certificates import policy_of
from partisan_operator.decide.rotation import MakeAuthority, Publish, Step
from partisan_operator.models import PartisanCluster
from partisan_operator.models.security import ClusterCa
from partisan_operator.observe.certificate_secrets import KeyPair, key_pair, read_store

logger = logging.getLogger(__name__)


class CertificateWriter:
    """Generates authorities and certificates, and writes their Secrets."""

    def __init__(self, kube: Kube, clock: Callable[[], datetime]) -> None:
        """Make a writer; `clock` dates the certificates."""
        self._kube = kube
        self._clock = clock

    async def perform(self, cluster: PartisanCluster, ca: ClusterCa, step: Step) -> None:
        """Carry out a step.

        Raises `KubeError`; with code 409 when the Secrets have changed since the step was decided.
        """
        match step:
            case MakeAuthority(replaces):
                duration = policy_of(cluster, ca).duration
                pair = mint.new_authority(cluster.name, self._clock(), duration)
                child = credentials.authority(cluster, pair.certificate, pair.key, replaces)
            case Publish(trusted, issuer, replaces):
                pair = (
                    await self._present(cluster)
                    if issuer is None
                    else await self._issued(cluster, ca, issuer)
                )
                authorities = "".join(one.pem for one in trusted)
                child = credentials.nodes(
                    cluster, pair.certificate, pair.key, authorities, replaces
                )
        await self._write(child, step)

    async def _write(self, child: Child, step: Step) -> None:
        if step.replaces is None:
            await self._kube.create(child.manifest)
        else:
            await self._kube.apply(child.manifest)
        match step:
            case MakeAuthority():
                logger.info("made an authority: Secret %s", child.name)
            case Publish(trusted, issuer):
                what = "the present certificate" if issuer is None else "a new certificate"
                logger.info(
                    "wrote %s and %d authorities: Secret %s", what, len(trusted), child.name
                )

    async def _present(self, cluster: PartisanCluster) -> KeyPair:
        """Return the pair in the nodes' Secret. The write fails if the Secret changes before it."""
        name = tls_files.made_secret_name(cluster.name)
        secret = await self._kube.get("Secret", cluster.namespace, name)
        if secret is None:
            raise KubeError(409, f"Secret {name} is gone")
        return key_pair(secret)

    async def _issued(self, cluster: PartisanCluster, ca: ClusterCa, issuer: str) -> KeyPair:
        """Return a new certificate of the authority with that fingerprint."""
        name = credentials.authority_name(cluster.name)
        secret = await self._kube.get("Secret", cluster.namespace, name)
        authority = read_store(secret, None, cluster.uid).authority
        present = None if authority is None else authority.certificate
        if secret is None or present is None or present.fingerprint != issuer:
            raise KubeError(409, f"Secret {name} now holds another authority")
        policy = policy_of(cluster, ca)
        return mint.issue(key_pair(secret), policy.name, self._clock(), policy.certificate_duration)
