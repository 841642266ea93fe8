"""Ports on which applications in the pods listen."""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from partisan_operator.models.base import Resource, Rule, keyed_by, listed, rules
from partisan_operator.models.names import matches

OWN_PORTS = (7946, 8080)
"""TCP ports on which the node listens."""

OWN_PORT_NAMES = ("http", "https", "partisan")
"""Names of the node's ports."""


class PodPort(Resource):
    """A port of the pods, on which an application in the node or a sidecar listens."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                f"self.protocol != 'TCP' || !(self.port in {list(OWN_PORTS)})",
                f"port must not be one of the node's own ({', '.join(map(str, OWN_PORTS))}): choose"
                " another one",
                ".port",
            )
        )
    )

    name: Annotated[
        str,
        Field(
            min_length=1,
            max_length=15,
            json_schema_extra=rules(
                Rule(
                    f"{matches('self', '[a-z0-9]+(-[a-z0-9]+)*')} && self.matches('[a-z]')",
                    "must be the name of a port such as grpc-api: lower-case letters, digits and"
                    " single dashes, with a letter, and a letter or a digit at both ends",
                ),
                Rule(
                    f"!(self in {listed(OWN_PORT_NAMES)})",
                    f"must not be the name of a port of the node ({', '.join(OWN_PORT_NAMES)}):"
                    " choose another name",
                ),
            ),
        ),
    ]
    """The name, in the pods and in the Service."""

    port: Annotated[int, Field(ge=1, le=65_535)]
    """The port's number, in the pods and in the Service."""

    protocol: Literal["TCP", "UDP", "SCTP"] = "TCP"
    """The protocol."""


PodPorts = Annotated[
    tuple[PodPort, ...],
    Field(
        max_length=16,
        json_schema_extra={
            **keyed_by("name"),
            **rules(
                Rule(
                    "self.all(one, self.exists_one(other, other.port == one.port"
                    " && other.protocol == one.protocol))",
                    "holds the same port and protocol twice: remove one",
                )
            ),
        },
    ),
]
"""The ports; names are unique."""
