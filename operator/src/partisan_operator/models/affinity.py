"""Affinity and spread of the pods, as in a pod's spec, with the rules that Kubernetes has for them.

Kubernetes applies these rules when it creates the pods, long after the manifest was applied. Fields
of later Kubernetes versions are unknown here. Over 300 lines: one declaration for each type of the
Kubernetes API.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from partisan_operator.models.base import Resource, Rule, keyed_by, rules
from partisan_operator.models.names import (
    LabelKey,
    LabelValue,
    MatchedValue,
    NamespaceName,
    ObjectName,
    distinct,
    qualified_keys,
)

MAX_TERMS = 16
MAX_EXPRESSIONS = 8
MAX_VALUES = 64


def _at_most(entries: int, **extra: Any) -> dict[str, Any]:
    """Return the schema extension that bounds a list for the API server alone.

    Clusters from before the bound may have a longer list, and are still served.
    """
    return {"maxItems": entries, **extra}


Weight = Annotated[int, Field(ge=1, le=100)]

SelectorLabels = Annotated[
    dict[str, LabelValue],
    Field(json_schema_extra={"maxProperties": 32, **rules(qualified_keys("key"))}),
]
Values = Annotated[tuple[MatchedValue, ...], Field(json_schema_extra=_at_most(MAX_VALUES))]

MatchedKeys = Annotated[
    tuple[LabelKey, ...], Field(json_schema_extra=_at_most(8, **rules(distinct("key"))))
]

_SETS = (
    Rule(
        "!(self.operator in ['In', 'NotIn']) || (has(self.values) && self.values.size() > 0)",
        "values must hold at least one value with operator In or NotIn: add one, or use Exists or"
        " DoesNotExist",
        ".values",
    ),
    Rule(
        "!(self.operator in ['Exists', 'DoesNotExist']) || !has(self.values)"
        " || self.values.size() == 0",
        "values must be empty with operator Exists or DoesNotExist: remove them, or use In or"
        " NotIn",
        ".values",
    ),
)


class LabelRequirement(Resource):
    """One condition on the labels of an object."""

    model_config = ConfigDict(json_schema_extra=rules(*_SETS))

    key: LabelKey
    """The key of the label."""

    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """How the label relates to the values."""

    values: Values | None = None
    """The values, with operator In or NotIn."""


class LabelSelector(Resource):
    """Selects objects by their labels. All conditions must hold; `{}` selects all objects."""

    match_labels: SelectorLabels | None = None
    """Labels that objects must have."""

    match_expressions: (
        Annotated[tuple[LabelRequirement, ...], Field(json_schema_extra=_at_most(MAX_EXPRESSIONS))]
        | None
    ) = None
    """Conditions on labels."""


class NodeRequirement(Resource):
    """One condition on the labels of a Kubernetes node."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            *_SETS,
            Rule(
                "!(self.operator in ['Gt', 'Lt']) || (has(self.values) && self.values.size() == 1"
                " && self.values[0].matches('^[0-9]{1,18}$'))",
                "values must hold exactly one integer that is not negative with operator Gt or Lt",
                ".values",
            ),
        )
    )

    key: LabelKey
    """The key of the label."""

    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    """How the label relates to the values."""

    values: Values | None = None
    """The values, with operator In or NotIn; one integer with Gt or Lt."""


class NodeField(Resource):
    """A condition on the name of a Kubernetes node."""

    key: Literal["metadata.name"]
    """The field: metadata.name is the only one."""

    operator: Literal["In", "NotIn"]
    """How the name relates to the value."""

    values: Annotated[
        tuple[ObjectName, ...],
        Field(min_length=1, max_length=1),
    ]
    """The name, exactly one."""


class NodeTerm(Resource):
    """Selects Kubernetes nodes; all conditions must hold."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "(has(self.matchExpressions) && self.matchExpressions.size() > 0)"
                " || (has(self.matchFields) && self.matchFields.size() > 0)",
                "a term without conditions selects no Kubernetes node: set matchExpressions or"
                " matchFields, or remove the term",
            )
        )
    )

    match_expressions: (
        Annotated[tuple[NodeRequirement, ...], Field(json_schema_extra=_at_most(MAX_EXPRESSIONS))]
        | None
    ) = None
    """Conditions on labels."""

    match_fields: Annotated[tuple[NodeField, ...], Field(json_schema_extra=_at_most(4))] | None = (
        None
    )
    """Conditions on the name."""


class PreferredNode(Resource):
    """Kubernetes nodes that the scheduler prefers."""

    weight: Weight
    """Weight of the preference, from 1 to 100."""

    preference: NodeTerm
    """The preferred nodes."""


class NodeSelector(Resource):
    """Selects Kubernetes nodes; one of the terms must hold."""

    node_selector_terms: Annotated[
        tuple[NodeTerm, ...], Field(min_length=1, json_schema_extra=_at_most(MAX_TERMS))
    ]
    """The terms."""


class NodeAffinity(Resource):
    """Kubernetes nodes that pods may run on, and those that they prefer."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None
    """Kubernetes nodes that pods may run on."""

    preferred_during_scheduling_ignored_during_execution: (
        Annotated[tuple[PreferredNode, ...], Field(json_schema_extra=_at_most(MAX_TERMS))] | None
    ) = None
    """Kubernetes nodes that pods prefer."""


_KEYS_SELECTED = Rule(
    "!has(self.matchLabelKeys) || !has(self.labelSelector) || !self.matchLabelKeys.exists(key,"
    " (has(self.labelSelector.matchLabels) && key in self.labelSelector.matchLabels)"
    " || (has(self.labelSelector.matchExpressions)"
    " && self.labelSelector.matchExpressions.exists(entry, entry.key == key)))",
    "a key is in matchLabelKeys and in labelSelector: remove it from one",
    ".matchLabelKeys",
)


class PodTerm(Resource):
    """Selects other pods, and the topology in which they count as near."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "has(self.labelSelector)",
                "labelSelector must be set, because without it no pod is selected: such as"
                " {matchLabels: {partisan.dev/cluster: NAME}}, or {} for all pods",
            ),
            Rule(
                "!has(self.matchLabelKeys) || !has(self.mismatchLabelKeys)"
                " || !self.matchLabelKeys.exists(key, key in self.mismatchLabelKeys)",
                "a key is in matchLabelKeys and in mismatchLabelKeys: remove it from one",
                ".mismatchLabelKeys",
            ),
            _KEYS_SELECTED,
        )
    )

    label_selector: LabelSelector | None = None
    """The pods."""

    namespaces: (
        Annotated[tuple[NamespaceName, ...], Field(json_schema_extra=_at_most(16))] | None
    ) = None
    """The pods' namespaces; absent means that of the cluster."""

    namespace_selector: LabelSelector | None = None
    """The pods' namespaces, by labels."""

    topology_key: LabelKey
    """The label of Kubernetes nodes whose value near pods have in common."""

    match_label_keys: MatchedKeys | None = None
    """Labels whose values the selected pods share with the pod itself."""

    mismatch_label_keys: MatchedKeys | None = None
    """Labels whose values the selected pods do not share with the pod itself."""


class PreferredPod(Resource):
    """Pods near to which, or far from which, the scheduler prefers to place the pods."""

    weight: Weight
    """Weight of the preference, from 1 to 100."""

    pod_affinity_term: PodTerm
    """Which ones."""


class PodAffinity(Resource):
    """Pods that the pods of the cluster are placed near to, or far from."""

    required_during_scheduling_ignored_during_execution: (
        Annotated[tuple[PodTerm, ...], Field(json_schema_extra=_at_most(MAX_TERMS))] | None
    ) = None
    """Requirements for scheduling a pod."""

    preferred_during_scheduling_ignored_during_execution: (
        Annotated[tuple[PreferredPod, ...], Field(json_schema_extra=_at_most(MAX_TERMS))] | None
    ) = None
    """Preferences of the scheduler."""


class Affinity(Resource):
    """Affinity of the pods, as in a pod's spec."""

    node_affinity: NodeAffinity | None = None
    """Kubernetes nodes that the pods run on."""

    pod_affinity: PodAffinity | None = None
    """Pods that they are placed near to."""

    pod_anti_affinity: PodAffinity | None = None
    """Pods that they are placed far from."""


class SpreadConstraint(Resource):
    """How evenly pods spread over the values of a label of Kubernetes nodes."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "!has(self.minDomains) || self.whenUnsatisfiable == 'DoNotSchedule'",
                "minDomains may only be set with whenUnsatisfiable DoNotSchedule: remove it or"
                " change whenUnsatisfiable",
                ".minDomains",
            ),
            Rule(
                "has(self.labelSelector)",
                "labelSelector must be set, because without it no pod is counted and the"
                " constraint does nothing: such as {matchLabels: {partisan.dev/cluster: NAME}}",
            ),
            _KEYS_SELECTED,
        )
    )

    max_skew: Annotated[int, Field(ge=1, json_schema_extra={"maximum": 1024})]
    """Most pods by which two values may differ."""

    min_domains: Annotated[int, Field(ge=1, json_schema_extra={"maximum": 1024})] | None = None
    """Fewest values with eligible Kubernetes nodes."""

    topology_key: LabelKey
    """The label of the Kubernetes nodes."""

    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    """Whether a pod that would make the spread less even is scheduled."""

    label_selector: LabelSelector | None = None
    """The pods that are counted."""

    match_label_keys: MatchedKeys | None = None
    """Labels whose values the counted pods share with the pod itself."""

    node_affinity_policy: Literal["Honor", "Ignore"] | None = None
    """Whether Kubernetes nodes that the affinity excludes count."""

    node_taints_policy: Literal["Honor", "Ignore"] | None = None
    """Whether Kubernetes nodes with taints that are not tolerated count."""


SpreadConstraints = Annotated[
    tuple[SpreadConstraint, ...],
    Field(max_length=8, json_schema_extra=keyed_by("topologyKey", "whenUnsatisfiable")),
]
