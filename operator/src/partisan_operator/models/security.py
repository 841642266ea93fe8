"""How nodes prove to each other who they are."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from partisan_operator.models.base import Resource


class Tls(Resource):
    """TLS 1.3 on every connection between nodes, each side with a certificate."""

    secret_name: Annotated[str, Field(min_length=1, max_length=253)]
    """Secret in the namespace of the cluster that holds tls.crt, tls.key and ca.crt, as
    cert-manager writes it. All nodes use it; the certificate is for server and client
    authentication, and ca.crt holds the root that it leads to. Nodes read it anew when it changes.
    """

    server_name: Annotated[str, Field(max_length=253)] = ""
    """DNS name that the certificates of all nodes bear. Empty means NAME.NAMESPACE.svc."""


class Security(Resource):
    """How nodes prove to each other who they are.

    That they hold the cluster's token they prove in any case.
    """

    tls: Tls | None = None
    """TLS on every connection between nodes. Absent means none: connections are authenticated by
    the cluster's token and not encrypted. Can be neither added nor removed later."""
