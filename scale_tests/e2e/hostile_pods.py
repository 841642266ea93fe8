"""Resources, additions to pods and references that must be refused."""

from scale_tests.e2e.hostile_texts import (
    BAD_IMAGES,
    BAD_KEYS,
    BAD_LABEL_VALUES,
    BAD_NAMES,
    BAD_PREFIXES,
    BAD_VARIABLES,
    ESCAPES,
    INJECTING_LABELS,
    LONG,
    LONGEST_PREFIX,
)
from scale_tests.e2e.specs import Row, pods, resources, tls, variable

RESOURCES: list[Row] = [
    *(
        (resources(requests={"cpu": amount}), "requests")
        for amount in (
            -1,
            "-1",
            "-100m",
            "0.5m",
            "0.0001",
            "1.5m",
            1000,
            "100k",
            "9Gi",
            "",
            "many",
            "1e3",
        )
    ),
    *(
        (resources(requests={"memory": amount}), "requests")
        for amount in (
            -1,
            "-1Mi",
            "0.5",
            "100m",
            "99999999999Ti",
            "2Ti",
            "1Pi",
            2**62,
            "64mb",
            "64 Mi",
        )
    ),
    (resources(requests={"ephemeral-storage": "-1Gi"}), "requests"),
    (resources(requests={"ephemeral-storage": "99999Ti"}), "requests"),
    (resources(limits={"ephemeral-storage": 1}), "limits"),
    *((resources(limits={"cpu": amount}), "limits") for amount in (-1, 0, "5m", "0.5m", 10000)),
    *((resources(limits={"memory": amount}), "limits") for amount in (0, "1Mi", "99999999999Ti")),
    # Below the operator's default request.
    (resources(limits={"memory": "32Mi"}), "spec.resources.limits"),
    (resources(limits={"memory": "40000k"}), "spec.resources.limits"),
    (resources(requests={"cpu": 2}, limits={"cpu": 1}), "spec.resources.requests"),
    (resources(requests={"memory": "1Gi"}, limits={"memory": "512Mi"}), "spec.resources.requests"),
    (resources(requests={"memory": "64M"}, limits={"memory": "60Mi"}), "spec.resources.requests"),
    *(
        (resources(limits={name: 1}), "spec.resources.limits")
        for name in (
            "gpu",
            "Memory",
            "pods",
            "hugepages-2Mi",
            "storage",
            "requests.cpu",
            "a b/c",
            "",
        )
    ),
    (resources(limits={"kubernetes.io/thing": 1}), "spec.resources.limits"),
    (resources(limits={"attachable.kubernetes.io/thing": 1}), "spec.resources.limits"),
    (resources(requests={"example.com/device": 1}), "spec.resources.requests"),
    (
        resources(requests={"example.com/device": 1}, limits={"example.com/device": 2}),
        "spec.resources.requests",
    ),
    (resources(limits={"example.com/device": "500m"}), "spec.resources.limits"),
    (resources(claims=[{"name": "a"}]), "spec.resources.claims"),
    (resources(limits=[]), "spec.resources.limits"),
    (resources(limits={"example.com/" + "a" * 64: 1}), "spec.resources.limits"),
    (resources(requests={"memory": -1}), "spec.resources.requests.memory"),
    (resources(requests={"cpu": 0.1}), "spec.resources.requests.cpu"),
    (resources(requests={"example.com/device": "1"}), "spec.resources.requests"),
    (resources(limits={"example..com/a": 1}), "spec.resources.limits"),
    (resources(limits={"example-.com/a": 1}), "spec.resources.limits"),
    # Kubernetes prefixes its quota by "requests.".
    (resources(limits={LONGEST_PREFIX[9:] + "a/b": 1}), "spec.resources.limits"),
]

PODS: list[Row] = [
    *((pods(labels={key: "a"}), "spec.pods.labels") for key in BAD_KEYS),
    *((pods(labels={"a": value}), "spec.pods.labels") for value in BAD_LABEL_VALUES),
    *((pods(labels={key: "true"}), "spec.pods.labels") for key in INJECTING_LABELS),
    (pods(labels={"a": 1}), "spec.pods.labels"),
    (pods(labels={"controller-revision-hash": "a"}), "spec.pods.labels"),
    (pods(labels={"partisan.dev/cluster": "other"}), "spec.pods.labels"),
    (pods(labels={"app.kubernetes.io/name": "mine"}), "spec.pods.labels"),
    (pods(labels={f"k{n}": "v" for n in range(33)}), "spec.pods.labels"),
    *((pods(annotations={key: "a"}), "spec.pods.annotations") for key in BAD_KEYS),
    *((pods(annotations={key: "unconfined"}), "spec.pods.annotations") for key in ESCAPES),
    (pods(annotations={"partisan.dev/config-hash": "x"}), "spec.pods.annotations"),
    (pods(annotations={"example.org/a": "x" * 4097}), "spec.pods.annotations"),
    (pods(annotations={"example.org/a": True}), "spec.pods.annotations"),
    (
        pods(annotations={f"example.org/k{n}": "x" * 4096 for n in range(70)}),
        "spec.pods.annotations",
    ),
    *((variable(name), "spec.pods.env") for name in BAD_VARIABLES),
    (variable("A" * 129), "spec.pods.env"),
    (variable("A", value=1), "spec.pods.env"),
    (variable("A", value="x" * 4097), "spec.pods.env"),
    (variable("A", value="x\0y"), "spec.pods.env"),
    (pods(env=[{"name": "A", "value": "x"}, {"name": "A", "value": "y"}]), "spec.pods.env"),
    (pods(env=[{"name": "A"}]), "spec.pods.env[0]"),
    (pods(env=[{"value": "A"}]), "spec.pods.env[0].name"),
    (variable("A", valueFrom={}), "spec.pods.env[0].valueFrom"),
    (variable("A", valueFrom={"fieldRef": {"fieldPath": "spec.nodeName"}}), "valueFrom"),
    (variable("A", value="x", valueFrom={"secretKeyRef": {"name": "a", "key": "b"}}), "env[0]"),
    (
        variable(
            "A",
            valueFrom={
                "secretKeyRef": {"name": "a", "key": "b"},
                "configMapKeyRef": {"name": "a", "key": "b"},
            },
        ),
        "spec.pods.env[0].valueFrom",
    ),
    *(
        (variable("A", valueFrom={"secretKeyRef": {"name": name, "key": "b"}}), "secretKeyRef.name")
        for name in BAD_NAMES
    ),
    (
        variable("A", valueFrom={"configMapKeyRef": {"name": "A/", "key": "b"}}),
        "configMapKeyRef.name",
    ),
    (variable("A", valueFrom={"secretKeyRef": {"name": "a"}}), "secretKeyRef.key"),
    *(
        (variable("A", valueFrom={"secretKeyRef": {"name": "a", "key": key}}), "secretKeyRef.key")
        for key in ("", "..", ".", "..a", "a/b", "a b", "ä", LONG)
    ),
    (pods(envFrom=[{}]), "spec.pods.envFrom[0]"),
    (pods(envFrom=[{"secretRef": {"name": "a"}, "configMapRef": {"name": "a"}}]), "envFrom[0]"),
    (pods(envFrom=[{"secretRef": {"name": "a"}}] * 2), "spec.pods.envFrom"),
    *((pods(envFrom=[{"secretRef": {"name": name}}]), "secretRef.name") for name in BAD_NAMES),
    *(
        (pods(envFrom=[{"prefix": prefix, "secretRef": {"name": "a"}}]), "prefix")
        for prefix in BAD_PREFIXES
    ),
    (pods(annotations={"linkerd.io/inject": "enabled"}), "spec.pods.annotations"),
    (pods(annotations={"linkerd.io/skip-outbound-ports": "false"}), "spec.pods.annotations"),
    (pods(annotations={"vault.hashicorp.com/agent-inject": "true"}), "spec.pods.annotations"),
    (pods(labels={"sidecar.istio.io/inject": "true"}), "spec.pods.labels"),
    (
        pods(annotations={f"example.org/{n}": "ü" * 4096 for n in range(32)}),
        "spec.pods.annotations",
    ),
]

REFERENCES: list[Row] = [
    *(({"image": image}, "spec.image") for image in BAD_IMAGES),
    *(({"imagePullSecrets": [{"name": name}]}, "imagePullSecrets") for name in BAD_NAMES),
    ({"imagePullSecrets": [{}]}, "imagePullSecrets"),
    ({"imagePullSecrets": [{"name": ""}]}, "imagePullSecrets"),
    ({"imagePullSecrets": [{"name": "a"}, {"name": "a"}]}, "imagePullSecrets"),
    *(({"priorityClassName": name}, "spec.priorityClassName") for name in BAD_NAMES),
    *((tls(secretName=name), "spec.security.tls.secretName") for name in BAD_NAMES),
    (tls(secretName=""), "spec.security.tls.secretName"),
    (tls(secretName="bad-token"), "secretName"),
    *((tls(issuerRef={"name": name}), "spec.security.tls.issuerRef.name") for name in BAD_NAMES),
    (tls(issuerRef={"name": "a", "kind": "cluster issuer"}), "issuerRef.kind"),
    (tls(issuerRef={"name": "a", "kind": ""}), "issuerRef.kind"),
    (tls(issuerRef={"name": "a", "group": "cert-manager.io/v1"}), "issuerRef.group"),
    (tls(issuerRef={}), "issuerRef.name"),
    *(
        (tls(secretName="a", serverName=name), "spec.security.tls.serverName")
        for name in ("*.example.org", "a b", "a:443", "https://a", "UPPER", "a/../b", "ä.example")
    ),
    (tls(clusterCa={}, serverName="a"), "spec.security.tls.serverName"),
    (tls(), "exactly one"),
    (tls(secretName="a", clusterCa={}), "exactly one"),
    (tls(clusterCa={"duration": "1m"}), "clusterCa.duration"),
    (tls(clusterCa={"duration": "24h"}), "clusterCa.certificateDuration"),
    (tls(clusterCa={"renewBefore": "2000h"}), "clusterCa.renewBefore"),
    (tls(secretName="bad-bearer"), "spec.security.tls.secretName"),
    (tls(secretName="a", serverName="10.0.0.1"), "spec.security.tls.serverName"),
    (tls(secretName="a", serverName="a" * 64 + ".b"), "spec.security.tls.serverName"),
    ({"metrics": {"podMonitor": "Disabled", "interval": "30s"}}, "spec.metrics.interval"),
]
