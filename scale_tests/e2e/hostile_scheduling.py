"""Rules for the scheduling of pods that must be refused, and values that nearly are right."""

from scale_tests.e2e.hostile_texts import BAD_KEYS, BAD_LABEL_VALUES
from scale_tests.e2e.specs import (
    Row,
    anti_affinity,
    counter,
    custom,
    node_affinity,
    preferred,
    required_nodes,
    resources,
    spread,
    tls,
)

SCHEDULING: list[Row] = [
    *(({"nodeSelector": {key: "a"}}, "spec.nodeSelector") for key in BAD_KEYS),
    *(({"nodeSelector": {"a": value}}, "spec.nodeSelector") for value in BAD_LABEL_VALUES),
    ({"nodeSelector": {"a": True}}, "spec.nodeSelector"),
    *(
        ({"tolerations": [{"key": key, "operator": "Exists"}]}, "spec.tolerations")
        for key in BAD_KEYS
        if key
    ),
    *(
        ({"tolerations": [{"key": "a", "value": value}]}, "spec.tolerations")
        for value in BAD_LABEL_VALUES
    ),
    ({"tolerations": [{}]}, "spec.tolerations"),
    ({"tolerations": [{"operator": "Equal"}]}, "spec.tolerations"),
    ({"tolerations": [{"key": "a", "operator": "exists"}]}, "spec.tolerations"),
    ({"tolerations": [{"key": "a", "operator": "Gt", "value": "5"}]}, "spec.tolerations"),
    ({"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]}, "spec.tolerations"),
    ({"tolerations": [{"operator": "Exists", "effect": "NoStart"}]}, "spec.tolerations"),
    ({"tolerations": [{"operator": "Exists", "tolerationSeconds": 5}]}, "tolerationSeconds"),
    (
        {"tolerations": [{"operator": "Exists", "effect": "NoSchedule", "tolerationSeconds": 5}]},
        "tolerationSeconds",
    ),
    *(
        (
            {
                "tolerations": [
                    {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": n}
                ]
            },
            "tolerationSeconds",
        )
        for n in (2**63, "5s", 10**12)
    ),
    ({"tolerations": [{"operator": "Exists"}] * 2}, "spec.tolerations"),
    ({"tolerations": [{"operator": "Exists", "keys": []}]}, "keys"),
    *((spread(maxSkew=skew), "maxSkew") for skew in (0, -1, 2**31, "1", None)),
    *((spread(topologyKey=key), "topologyKey") for key in (*BAD_KEYS, None)),
    *((spread(whenUnsatisfiable=mode), "whenUnsatisfiable") for mode in ("Never", "", None)),
    (spread(minDomains=0), "minDomains"),
    (spread(minDomains=2, whenUnsatisfiable="ScheduleAnyway"), "minDomains"),
    (spread(labelSelector=None), "labelSelector"),
    (spread(labelSelector={"matchLabels": {"a b": "c"}}), "labelSelector"),
    (spread(labelSelector={"matchLabels": {"a": "b c"}}), "labelSelector"),
    (spread(labelSelector={"matchLabel": {}}), "matchLabel"),
    (spread(labelSelector={"matchExpressions": [{"key": "a", "operator": "In"}]}), "values"),
    (
        spread(
            labelSelector={
                "matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]
            }
        ),
        "values",
    ),
    (spread(matchLabelKeys=["a"]), "matchLabelKeys"),
    (spread(matchLabelKeys=["a b"]), "matchLabelKeys"),
    (spread(matchLabelKeys=["c", "c"]), "matchLabelKeys"),
    (spread(nodeAffinityPolicy="honor"), "nodeAffinityPolicy"),
    (spread(nodeTaintsPolicy=""), "nodeTaintsPolicy"),
    (spread(skew=1), "skew"),
    (
        {"topologySpreadConstraints": spread()["topologySpreadConstraints"] * 2},
        "topologySpreadConstraints",
    ),
    ({"topologySpreadConstraints": {}}, "topologySpreadConstraints"),
    ({"affinity": {"nodeAffinities": {}}}, "nodeAffinities"),
    ({"affinity": {"podAntiAffinity": {"x": 1}}}, "podAntiAffinity"),
    ({"affinity": "none"}, "spec.affinity"),
    (required_nodes(), "nodeSelectorTerms"),
    (required_nodes({}), "nodeSelectorTerms"),
    (node_affinity(operator="in"), "operator"),
    (node_affinity(values=[]), "values"),
    (node_affinity(values="b"), "values"),
    (node_affinity(values=["b c"]), "values"),
    (node_affinity(operator="Exists"), "values"),
    (node_affinity(operator="Gt"), "values"),
    (node_affinity(operator="Gt", values=["1", "2"]), "values"),
    *((node_affinity(key=key), "key") for key in BAD_KEYS),
    (
        required_nodes({"matchFields": [{"key": "spec.x", "operator": "In", "values": ["a"]}]}),
        "matchFields",
    ),
    (
        required_nodes(
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a", "b"]}]}
        ),
        "matchFields",
    ),
    (anti_affinity(topologyKey=""), "topologyKey"),
    (anti_affinity(labelSelector=None), "labelSelector"),
    (anti_affinity(topologyKey="a b"), "topologyKey"),
    (anti_affinity(namespaces=["Upper"]), "namespaces"),
    (anti_affinity(labelSelector={"matchLabels": {"a": "b c"}}), "matchLabels"),
    (anti_affinity(matchLabelKeys=["a"], mismatchLabelKeys=["a"]), "matchLabelKeys"),
    (anti_affinity(labelselector={}), "labelselector"),
    (
        required_nodes(
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["A b"]}]}
        ),
        "matchFields",
    ),
    ({"rollout": {"maxUnavailable": 1.5}}, "spec.rollout.maxUnavailable"),
    ({"rollout": {"maxUnavailable": "05%"}}, "spec.rollout.maxUnavailable"),
    ({"image": "a" * 300}, "spec.image"),
    ({"image": "registry.example.com/" + "a" * 300 + ":1"}, "spec.image"),
    ({"image": "node@sha256:" + "A" * 64}, "spec.image"),
    ({"image": " "}, "spec.image"),
    (resources(requests={"memory": "１Gi"}), "requests"),
    (resources(requests={"cpu": "1e-3"}), "requests"),
    (counter(incrementInterval="0.0001s"), "incrementInterval"),
    (counter(incrementInterval="9999999h9999999h"), "incrementInterval"),
    (tls(secretName="a", serverName="a.example.org."), "serverName"),
    ({"metrics": {"labels": {"a b": "c"}}}, "spec.metrics.labels"),
    ({"metrics": {"labels": {"partisan.dev/x": "c"}}}, "spec.metrics.labels"),
    (custom(arguments=[{"name": "a" * 65, "value": 1}]), "arguments"),
    ({"nodeSelector": {f"k{n}": "v" for n in range(40)}}, "spec.nodeSelector"),
    ({"channels": None, "replicas": None, "overlay": {"kind": None, "static": {}}}, "static"),
    *((preferred(weight), "weight") for weight in (0, 101, -1, 2**31, "1")),
    (
        anti_affinity(labelSelector={"matchLabels": {"a": "b"}}, matchLabelKeys=["a"]),
        "matchLabelKeys",
    ),
    (
        anti_affinity(
            labelSelector={"matchExpressions": [{"key": "a", "operator": "Exists"}]},
            matchLabelKeys=["a"],
        ),
        "matchLabelKeys",
    ),
    (
        spread(
            labelSelector={"matchExpressions": [{"key": "a", "operator": "Exists"}]},
            matchLabelKeys=["a"],
        ),
        "matchLabelKeys",
    ),
]
