"""Reads the state of the nodes' certificate, where the operator is responsible for it."""

import asyncio

from partisan_operator.api.errors import KubeError
from partisan_operator.api.kube import Kube, Query
from partisan_operator.children import certificate, credentials, tls_files
from partisan_operator.models import PartisanCluster
from partisan_operator.observe.certificate_secrets import read_store
from partisan_operator.observe.certificates import Issued, IssuedSecret, Store


async def read_certificate(kube: Kube, cluster: PartisanCluster) -> Store | Issued | None:
    """Return the Secrets of the cluster's own authority, or the certificate of cert-manager.

    None without TLS, and where the user provides the Secret. Raises `KubeError`.
    """
    tls = cluster.spec.security.tls
    if tls is None or tls.secret_name is not None:
        return None
    namespace = cluster.namespace
    nodes = kube.get("Secret", namespace, tls_files.made_secret_name(cluster.name))
    if tls.cluster_ca is not None:
        authority = kube.get("Secret", namespace, credentials.authority_name(cluster.name))
        return read_store(*await asyncio.gather(authority, nodes), cluster.uid)
    secret = await nodes
    found = None if secret is None else IssuedSecret.of(secret, cluster.uid)
    try:
        # A list, since only a list distinguishes a missing kind from a missing object.
        query = Query(fields=f"metadata.name={cluster.name}")
        certificates = await kube.find(certificate.KIND, namespace, query)
    except KubeError as error:
        if not error.out_of_reach:
            raise
        return Issued(refusal=str(error), secret=found)
    named = (item for item in certificates if item["metadata"]["name"] == cluster.name)
    return Issued(live=next(named, None), secret=found)
