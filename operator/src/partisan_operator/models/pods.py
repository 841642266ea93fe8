"""What the pods carry besides what the operator gives them: environment, labels, annotations."""

from __future__ import annotations

from typing import Annotated

from pydantic import ConfigDict, Field

from partisan_operator.models.base import Resource, Rule, keyed_by, rules
from partisan_operator.models.scheduling import LabelValue, LocalObjectReference

OWN_PREFIX = "partisan.dev/"
"""Of labels and annotations that are the operator's alone."""

OWN_LABELS = (
    "app.kubernetes.io/name",
    "app.kubernetes.io/instance",
    "app.kubernetes.io/part-of",
    "app.kubernetes.io/managed-by",
)
"""Labels without that prefix that the operator sets."""

OWN_VARIABLES = (
    "POD_NAME",
    "POD_NAMESPACE",
    "POD_IP",
    "K8S_NODE_NAME",
    "K8S_ZONE",
    "ERL_FLAGS",
)
"""Variables that the operator sets. The node reads some more, all named PARTISAN_..."""

_VARIABLE = "^[A-Za-z_][A-Za-z0-9_.-]*$"


def _listed(names: tuple[str, ...]) -> str:
    return "[" + ", ".join(f"'{name}'" for name in names) + "]"


_FOREIGN_KEYS = Rule(
    f"self.all(key, !key.startsWith('{OWN_PREFIX}') && !(key in {_listed(OWN_LABELS)}))",
    f"holds a key that the operator sets itself (those that start with {OWN_PREFIX}, and"
    " app.kubernetes.io/name, instance, part-of and managed-by): use a key of your own domain",
)

Labels = Annotated[
    dict[str, LabelValue], Field(max_length=32, json_schema_extra=rules(_FOREIGN_KEYS))
]
"""Labels beside the operator's."""

Annotations = Annotated[
    dict[str, Annotated[str, Field(max_length=4096)]],
    Field(max_length=32, json_schema_extra=rules(_FOREIGN_KEYS)),
]
"""Annotations beside the operator's."""


class KeySelector(Resource):
    """One key of a Secret or a ConfigMap in the namespace of the cluster."""

    name: Annotated[str, Field(min_length=1, max_length=253)]
    """Name of the object. A node starts when it is there, and has the key."""

    key: Annotated[str, Field(min_length=1, max_length=253)]
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
                    f"!(self in {_listed(OWN_VARIABLES)}) && !self.startsWith('PARTISAN_')",
                    f"must be none that the node itself is set up with ({', '.join(OWN_VARIABLES)},"
                    " PARTISAN_...): choose another name; flags of the emulator go into ERL_AFLAGS"
                    " or ERL_ZFLAGS",
                ),
            ),
        ),
    ]
    """The variable's name. Those that the node itself is set up with are refused."""

    value: Annotated[str, Field(max_length=4096)] | None = None
    """The value, for what is no secret."""

    value_from: VariableSource | None = None
    """Where the value comes from. It is read when a node starts: a change of the Secret or
    ConfigMap reaches the nodes with the next restart."""


class VariablesSource(Resource):
    """A Secret or a ConfigMap of which every key is a variable. One member is set."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "has(self.secretRef) != has(self.configMapRef)",
                "envFrom needs exactly one of secretRef and configMapRef in each entry",
            )
        )
    )

    prefix: Annotated[str, Field(max_length=64)] | None = None
    """Put before each key."""

    secret_ref: LocalObjectReference | None = None
    """The Secret."""

    config_map_ref: LocalObjectReference | None = None
    """The ConfigMap."""


class Pods(Resource):
    """What the pods carry besides what the operator gives them. A change replaces the pods."""

    labels: Labels = Field(default_factory=dict)
    """Further labels of the pods, for instance of a cost centre. Keys that the operator sets
    itself are refused."""

    annotations: Annotations = Field(default_factory=dict)
    """Further annotations of the pods. Keys that the operator sets itself are refused."""

    env: Annotated[
        tuple[Variable, ...],
        Field(
            max_length=64,
            json_schema_extra=keyed_by("name"),
        ),
    ] = ()
    """Further environment variables of the nodes; names are unique."""

    env_from: Annotated[tuple[VariablesSource, ...], Field(max_length=16)] = ()
    """Secrets and ConfigMaps of which every key is an environment variable. Of the same name in
    several the last one counts; those of `env` and the operator's own win over all."""
