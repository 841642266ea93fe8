"""Environment variables that users add to the nodes: values, keys of Secrets and of ConfigMaps."""

from typing import Annotated

from pydantic import ConfigDict, Field

from partisan_operator.models.base import Resource, Rule, listed, rules
from partisan_operator.models.names import DataKey, ObjectName
from partisan_operator.models.scheduling import LocalObjectReference

OWN_VARIABLES = (
    "POD_NAME",
    "POD_NAMESPACE",
    "POD_IP",
    "K8S_NODE_NAME",
    "K8S_ZONE",
    "ERL_FLAGS",
    "PARTISAN_STATE",
)
"""Variables that the operator sets. The node reads further ones, all named PARTISAN_..."""

RESERVED_VARIABLES = ("PARTISAN_", "ERL_", "RELX_", "LD_", "KUBERNETES_")
"""Prefixes of variables that configure the node, the emulator, the start script or the loader, or
that Kubernetes sets."""

SYSTEM_VARIABLES = (
    "BINDIR",
    "EMU",
    "ESCRIPT_NAME",
    "GLIBC_TUNABLES",
    "HOME",
    "MALLOC_CONF",
    "PATH",
    "PROGNAME",
    "ROOTDIR",
    "VMARGS_PATH",
)
"""Variables by which the start script finds the emulator, or that change how programs load."""


_VARIABLE = "^[A-Za-z_][A-Za-z0-9_.-]*$"


class KeySelector(Resource):
    """One key of a Secret or a ConfigMap in the namespace of the cluster."""

    name: ObjectName
    """Name of the object. A node starts once it exists and has the key."""

    key: DataKey
    """The key."""


class VariableSource(Resource):
    """Where the value of a variable comes from. One member is set."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "has(self.secretKeyRef) != has(self.configMapKeyRef)",
                "valueFrom needs exactly one of secretKeyRef and configMapKeyRef",
            )
        )
    )

    secret_key_ref: KeySelector | None = None
    """A key of a Secret."""

    config_map_key_ref: KeySelector | None = None
    """A key of a ConfigMap."""


class Variable(Resource):
    """An environment variable of the node: a value, or where it comes from."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "has(self.value) != has(self.valueFrom)",
                "a variable needs exactly one of value and valueFrom",
            )
        )
    )

    name: Annotated[
        str,
        Field(
            min_length=1,
            max_length=128,
            json_schema_extra=rules(
                Rule(
                    f"self.matches('{_VARIABLE}')",
                    "must start with a letter or an underscore and hold only letters, digits,"
                    " underscores, dashes and dots",
                ),
                Rule(
                    f"!(self in {listed(OWN_VARIABLES + SYSTEM_VARIABLES)})"
                    f" && !{listed(RESERVED_VARIABLES)}.exists(start, self.startsWith(start))",
                    "must not be one that configures the node, the emulator or the loader"
                    f" ({', '.join(OWN_VARIABLES + SYSTEM_VARIABLES)}, or one that starts with"
                    f" {', '.join(RESERVED_VARIABLES)}): choose another name",
                ),
            ),
        ),
    ]
    """The variable's name. Those that configure the node itself are rejected."""

    value: (
        Annotated[
            str,
            Field(
                max_length=4096,
                json_schema_extra=rules(
                    Rule(
                        "!self.contains('\\u0000')",
                        "must hold no NUL character, which no environment can contain: remove it",
                    )
                ),
            ),
        ]
        | None
    ) = None
    """The value, if it is not secret."""

    value_from: VariableSource | None = None
    """Where the value comes from. It is read when a node starts: a change of the Secret or
    ConfigMap takes effect with the next restart."""


class VariablesSource(Resource):
    """A Secret or ConfigMap, each of whose keys becomes a variable. One member is set."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "has(self.secretRef) != has(self.configMapRef)",
                "envFrom needs exactly one of secretRef and configMapRef in each entry",
            )
        )
    )

    prefix: (
        Annotated[
            str,
            Field(
                max_length=64,
                json_schema_extra=rules(
                    Rule(
                        f"self == '' || self.matches('{_VARIABLE}')",
                        "must start with a letter or an underscore and hold only letters, digits,"
                        " underscores, dashes and dots",
                    ),
                    Rule(
                        f"!{listed(RESERVED_VARIABLES)}.exists(start, self.startsWith(start)"
                        " || self + '_' == start)",
                        "must not start like a variable that configures the node, the emulator"
                        f" or the loader ({', '.join(RESERVED_VARIABLES)}): choose another prefix",
                    ),
                ),
            ),
        ]
        | None
    ) = None
    """Prefix of each variable's name."""

    secret_ref: LocalObjectReference | None = None
    """The Secret."""

    config_map_ref: LocalObjectReference | None = None
    """The ConfigMap."""
