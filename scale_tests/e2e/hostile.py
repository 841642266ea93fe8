"""Manifests that must be refused: a spec, and the text that the refusal names.

By the kind of error. Each is a small valid cluster with some fields replaced.
"""

from __future__ import annotations

from typing import Any

from scale_tests.e2e.hostile_applications import APPLICATIONS, UNUSUAL_APPLICATIONS

Spec = dict[str, Any]
Row = tuple[Spec, str]

DEFAULT: Spec = {"name": "default"}
COUNTER: Spec = {"impressions": 10, "incrementInterval": "1s", "propagationInterval": "1s"}
ARGUMENT: Spec = {"name": "interval", "value": 500}
LONG = "a" * 254
LONGEST_PREFIX = ".".join(["a" * 63] * 3 + ["a" * 61])
"""253 characters, the most before the slash of a key."""

BAD_NAMES = (
    "../../kube-system/secrets/x",
    "..",
    "a/b",
    "a b",
    "Upper",
    "under_score",
    "-dash",
    "dash-",
    ".dot",
    "dot.",
    "two..dots",
    "ümlaut",
    "line\nbreak",
    "a?watch=1",
    "%2e%2e",
    LONG,
)
"""Strings that are no name of an object."""

BAD_KEYS = (
    "",
    "a b",
    "-a",
    "a-",
    "/a",
    "a/",
    "a/b/c",
    "UPPER.io/a",
    "a" * 64,
    "ä",
    "x/" + "a" * 64,
    LONGEST_PREFIX + "a/x",
)
"""Strings that are no key of a label."""

BAD_LABEL_VALUES = ("a b", "-a", "a-", "a/b", "a" * 64, "ü", "a\n")
"""Strings that are no value of a label."""

BAD_IMAGES = (
    "Upper/case",
    "with space:1",
    "https://registry.example.com/a:1",
    "a:",
    "a:-tag",
    "a:" + "t" * 129,
    "a@sha256:abc",
    "a@md5:" + "0" * 64,
    ":1",
    "a//b",
    "a/",
    "/a",
    "-a",
    "ä:1",
    "a:1\n",
    "a:1:2",
    "a" * 513,
    "registry:0/node",
    "registry:99999/node:1",
    "registry:65536/node",
    "registry.-example.com/node",
    "registry-.example.com/node",
    "registry.example-/node",
    "registry-:5000/node",
    "0" * 64,
    "a..b",
    "a___b",
    "a_-b",
    "a._b/c",
    "registry.example.com/" + "/".join(["a" * 120] * 2),
    "/".join(["a" * 85] * 3),
)

BAD_VARIABLES = (
    "",
    "1A",
    "A=B",
    "A B",
    "Ä",
    "A\n",
    "POD_IP",
    "POD_NAME",
    "K8S_ZONE",
    "PARTISAN_CONFIG",
    "PARTISAN_TOKEN_FILE",
    "ERL_FLAGS",
    "ERL_AFLAGS",
    "ERL_ZFLAGS",
    "ERL_LIBS",
    "ERL_EPMD_PORT",
    "ERL_CRASH_DUMP",
    "ERL_INETRC",
    "RELX_REPLACE_OS_VARS",
    "VMARGS_PATH",
    "ROOTDIR",
    "BINDIR",
    "EMU",
    "PROGNAME",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "GLIBC_TUNABLES",
    "MALLOC_CONF",
    "PATH",
    "HOME",
    "KUBERNETES_SERVICE_HOST",
)

BAD_PREFIXES = (
    "PARTISAN_",
    "PARTISAN",
    "PARTISAN_X_",
    "ERL_",
    "ERL",
    "LD_",
    "LD",
    "RELX_",
    "1",
    "A=",
    "A B",
)

ESCAPES = (
    "container.apparmor.security.beta.kubernetes.io/node",
    "container.seccomp.security.alpha.kubernetes.io/node",
    "seccomp.security.alpha.kubernetes.io/pod",
    "k8s.v1.cni.cncf.io/networks",
    "v1.multus-cni.io/default-network",
    "sidecar.istio.io/inject",
    "inject.istio.io/templates",
    "linkerd.io/inject",
    "vault.hashicorp.com/agent-inject",
    "consul.hashicorp.com/connect-inject",
    "kuma.io/sidecar-injection",
    "dapr.io/enabled",
    "instrumentation.opentelemetry.io/inject-java",
    "ad.datadoghq.com/node.logs",
    "io.kubernetes.cri-o.Devices",
    "io.kubernetes.cri-o.userns-mode",
    "io.katacontainers.config.hypervisor.kernel_params",
    "devices.nri.io/container.node",
    "cni.projectcalico.org/ipAddrs",
    "k8s.ovn.org/pod-networks",
    "kubernetes.io/egress-bandwidth",
    "kubernetes.io/config.source",
    "eks.amazonaws.com/role-arn",
    "operator.1password.io/inject",
)
"""Annotations by which a pod leaves its security profile, its network or its containers."""

INJECTING_LABELS = (
    "sidecar.istio.io/inject",
    "istio.io/rev",
    "azure.workload.identity/use",
    "linkerd.io/control-plane-ns",
    "node-role.kubernetes.io/control-plane",
    "statefulset.kubernetes.io/pod-name",
)

BAD_DURATIONS = (
    "",
    "10",
    "s",
    "-1s",
    "0s",
    "1ms",
    "1us",
    "1d",
    "1 s",
    "1s ",
    "soon",
    "1e3s",
    "25h",
    "٣s",
    10,
)


def overlay(kind: str, member: str = "", **fields: Any) -> Spec:
    return {"overlay": {"kind": kind, **({member: fields} if member else {})}}


def static(replicas: int, *edges: list[int]) -> Spec:
    return {"replicas": replicas, **overlay("Static", "static", edges=list(edges))}


def channel(**fields: Any) -> Spec:
    return {"channels": [{**DEFAULT, **fields}]}


def counter(**changed: Any) -> Spec:
    return {"workload": {"adCounter": {**COUNTER, **changed}}}


def custom(**fields: Any) -> Spec:
    return {"workload": {"custom": {"module": "rumours", **fields}}}


def pods(**fields: Any) -> Spec:
    return {"pods": fields}


def tls(**fields: Any) -> Spec:
    return {"security": {"tls": fields}}


def resources(**fields: Any) -> Spec:
    return {"resources": fields}


def variable(name: str, **fields: Any) -> Spec:
    return pods(env=[{"name": name, **(fields or {"value": "x"})}])


def spread(**fields: Any) -> Spec:
    whole = {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"a": "b"}},
        **fields,
    }
    constraint = {key: value for key, value in whole.items() if value is not None}
    return {"topologySpreadConstraints": [constraint]}


def node_affinity(**requirement: Any) -> Spec:
    term = {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"], **requirement}]}
    return required_nodes(term)


def required_nodes(*terms: Spec) -> Spec:
    required = {"nodeSelectorTerms": list(terms)}
    return {
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    }


def anti_affinity(**term: Any) -> Spec:
    whole = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {}, **term}
    return {
        "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [whole]}}
    }


def preferred(weight: Any) -> Spec:
    term = {"weight": weight, "podAffinityTerm": {"topologyKey": "a", "labelSelector": {}}}
    return {
        "affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    }


OVERLAYS: list[Row] = [
    (overlay("Torus"), "spec.overlay.kind"),
    (overlay(""), "spec.overlay.kind"),
    (overlay("hyparview"), "spec.overlay.kind"),
    (overlay("FullMesh", "hyParView"), "spec.overlay.hyParView"),
    (overlay("HyParView", "xBot"), "spec.overlay.xBot"),
    (overlay("HyParView", "static", pattern="Ring"), "spec.overlay.static"),
    (overlay("XBot", "hyParView"), "spec.overlay.hyParView"),
    (overlay("ScampV1", "scampV2"), "spec.overlay.scampV2"),
    (overlay("ScampV2", "scampV1"), "spec.overlay.scampV1"),
    (overlay("HiScamp", "cyclon"), "spec.overlay.cyclon"),
    (overlay("Cyclon", "fullMesh"), "spec.overlay.fullMesh"),
    (overlay("HyParView", "clientServer"), "spec.overlay.clientServer"),
    (overlay("Cyclon", "hiScamp"), "spec.overlay.hiScamp"),
    ({"overlay": []}, "spec.overlay"),
    (overlay("ClientServer", "clientServer", servers=4), "spec.overlay.clientServer.servers"),
    (overlay("ClientServer", "clientServer", servers=0), "spec.overlay.clientServer.servers"),
    (overlay("ClientServer", "clientServer", servers=-1), "spec.overlay.clientServer.servers"),
    (
        overlay("PublishSubscribe", "publishSubscribe", brokers=4),
        "spec.overlay.publishSubscribe.brokers",
    ),
    (
        overlay("PublishSubscribe", "publishSubscribe", brokers=1),
        "spec.overlay.publishSubscribe.replication",
    ),
    (overlay("Custom"), "spec.overlay.custom"),
    (overlay("Custom", "custom", module="hyparview"), "spec.overlay.custom.module"),
    ({"replicas": 300, **overlay("FullMesh")}, "allowLarge"),
    (overlay("HyParView", "hyParView", activeMin=7), "spec.overlay.hyParView.activeMin"),
    (overlay("HyParView", "hyParView", activeMax=0), "spec.overlay.hyParView.activeMax"),
    (overlay("HyParView", "hyParView", activeMax=2**31), "spec.overlay.hyParView.activeMax"),
    (overlay("HyParView", "hyParView", activeMax="six"), "spec.overlay.hyParView.activeMax"),
    (overlay("HyParView", "hyParView", passiveMax=10**6), "spec.overlay.hyParView.passiveMax"),
    (
        overlay("HyParView", "hyParView", shuffleInterval="1ms"),
        "spec.overlay.hyParView.shuffleInterval",
    ),
    (
        overlay("HyParView", "hyParView", shuffleInterval="24h"),
        "spec.overlay.hyParView.shuffleInterval",
    ),
    (
        overlay("HyParView", "hyParView", promotionInterval="5ms"),
        "spec.overlay.hyParView.promotionInterval",
    ),
    (overlay("HyParView", "hyParView", activeMaximum=6), "activeMaximum"),
    (
        overlay("XBot", "xBot", passiveRandomWalkLength=7),
        "spec.overlay.xBot.passiveRandomWalkLength",
    ),
    (overlay("XBot", "xBot", unbiased=6), "spec.overlay.xBot.unbiased"),
    (overlay("XBot", "xBot", scan=9, passiveMax=8), "spec.overlay.xBot.scan"),
    (overlay("XBot", "xBot", optimisationInterval="1ms"), "spec.overlay.xBot.optimisationInterval"),
    (
        overlay("ScampV1", "scampV1", heartbeatInterval="1ms"),
        "spec.overlay.scampV1.heartbeatInterval",
    ),
    (overlay("ScampV1", "scampV1", redundancy=33), "spec.overlay.scampV1.redundancy"),
    (overlay("ScampV2", "scampV2", lease="1s"), "spec.overlay.scampV2.lease"),
    (
        overlay("ScampV2", "scampV2", lease="20s", heartbeatInterval="30s"),
        "spec.overlay.scampV2.lease",
    ),
    (overlay("ScampV2", "scampV2", indirection=-1), "spec.overlay.scampV2.indirection"),
    (overlay("HiScamp", "hiScamp", lease="1s"), "spec.overlay.hiScamp.lease"),
    (overlay("HiScamp", "hiScamp", representatives=0), "spec.overlay.hiScamp.representatives"),
    (overlay("Cyclon", "cyclon", viewSize=4), "spec.overlay.cyclon.shuffleSize"),
    (overlay("Cyclon", "cyclon", shuffleInterval="10ms"), "spec.overlay.cyclon.shuffleInterval"),
    (overlay("Static"), "spec.overlay.static"),
    (overlay("Static", "static"), "spec.overlay.static"),
    (overlay("Static", "static", pattern="Star"), "spec.overlay.static.pattern"),
    (overlay("Static", "static", pattern="Ring", edges=[[0, 1]]), "spec.overlay.static"),
    (overlay("Static", "static", edges=[]), "spec.overlay.static.edges"),
    (static(3, [1, 1], [0, 1]), "spec.overlay.static.edges"),
    (static(3, [0, 1], [1, 3]), "spec.overlay.static.edges"),
    (static(3, [0, 1]), "spec.overlay.static.edges"),
    (static(3, [0, 1, 2], [0, 2]), "spec.overlay.static.edges"),
    (static(3, [0, -1], [0, 2]), "spec.overlay.static.edges"),
    (static(3, [0, 1], [0, 1]), "spec.overlay.static.edges"),
    (static(4, [0, 1], [1, 0], [2, 3]), "spec.overlay.static.edges"),
    (static(4, [0, 1], [1, 2], [2, 0]), "spec.overlay.static.edges"),
    (static(6, [0, 1], [1, 2], [0, 2], [3, 4], [4, 5], [3, 5]), "spec.overlay.static.edges"),
    (static(64, *([0, n] for n in range(1, 63)), [0, 1]), "spec.overlay.static.edges"),
    (static(6, [0, 2], [2, 4], [4, 0], [1, 3], [3, 5], [5, 1]), "spec.overlay.static.edges"),
    (static(6, [0, 4], [4, 5], [5, 0], [1, 2], [2, 3], [3, 1]), "spec.overlay.static.edges"),
    (static(32, *([n, (n + 2) % 32] for n in range(32))), "spec.overlay.static.edges"),
    (
        static(8, [3, 0], [3, 1], [3, 6], [0, 1], [5, 2], [5, 4], [5, 7]),
        "spec.overlay.static.edges",
    ),
]

NUMBERS: list[Row] = [
    ({"replicas": 0}, "spec.replicas"),
    ({"replicas": -1}, "spec.replicas"),
    ({"replicas": 5000}, "spec.replicas"),
    ({"replicas": 2**31}, "spec.replicas"),
    ({"replicas": 2**63}, "spec.replicas"),
    ({"replicas": 1.5}, "spec.replicas"),
    ({"replicas": "three"}, "spec.replicas"),
    ({"discovery": {"seeds": 0}}, "spec.discovery.seeds"),
    ({"discovery": {"seeds": 9}}, "spec.discovery.seeds"),
    ({"rollout": {"maxUnavailable": 0}}, "spec.rollout.maxUnavailable"),
    ({"rollout": {"maxUnavailable": -1}}, "spec.rollout.maxUnavailable"),
    ({"rollout": {"maxUnavailable": "0%"}}, "spec.rollout.maxUnavailable"),
    ({"rollout": {"maxUnavailable": "101%"}}, "spec.rollout.maxUnavailable"),
    ({"rollout": {"maxUnavailable": "10"}}, "spec.rollout.maxUnavailable"),
    ({"rollout": {"maxUnavailable": 2**40}}, "spec.rollout.maxUnavailable"),
    (counter(impressions=0), "spec.workload.adCounter.impressions"),
    (counter(impressions=-1), "spec.workload.adCounter.impressions"),
    (counter(impressions=10**13), "spec.workload.adCounter.impressions"),
    (counter(impressions="10"), "spec.workload.adCounter.impressions"),
    (counter(ads=0), "spec.workload.adCounter.ads"),
    (counter(ads=2**31), "spec.workload.adCounter.ads"),
    ({"paused": "yes"}, "spec.paused"),
    ({"development": "yes"}, "spec.development"),
    ({"networkPolicy": {"enabled": "true"}}, "spec.networkPolicy.enabled"),
    ({"imagePullPolicy": "Sometimes"}, "spec.imagePullPolicy"),
    ({"imagePullPolicy": ""}, "spec.imagePullPolicy"),
    ({"metrics": {"podMonitor": "Sometimes"}}, "spec.metrics.podMonitor"),
    ({"metrics": {"podMonitor": "Disabled", "labels": {"a": "b"}}}, "spec.metrics.labels"),
    ({"overlai": {}}, "spec.overlai"),
    ({"replica": 3}, "spec.replica"),
]

DURATIONS: list[Row] = [
    *((counter(incrementInterval=text), "adCounter.incrementInterval") for text in BAD_DURATIONS),
    *(
        (counter(propagationInterval=text), "adCounter.propagationInterval")
        for text in BAD_DURATIONS
    ),
    *(({"heartbeatInterval": text}, "spec.heartbeatInterval") for text in ("500ms", "2m", "", "1")),
    *(
        ({"metrics": {"interval": text}}, "spec.metrics.interval")
        for text in ("10ms", "0s", "x", "10m")
    ),
]

CHANNELS: list[Row] = [
    ({"channels": []}, "spec.channels"),
    ({"channels": [{"name": "a"}]}, "default"),
    ({"channels": [DEFAULT, {"name": "a"}, {"name": "a"}]}, "spec.channels"),
    ({"channels": [DEFAULT, {"name": "overlay"}]}, "spec.channels"),
    ({"channels": [DEFAULT, {"name": ""}]}, "spec.channels"),
    ({"channels": [DEFAULT, {"name": "Upper"}]}, "spec.channels"),
    ({"channels": [DEFAULT, {"name": "a-b"}]}, "spec.channels"),
    ({"channels": [DEFAULT, {"name": "a" * 33}]}, "spec.channels"),
    ({"channels": [DEFAULT, {"parallelism": 1}]}, "spec.channels[1].name"),
    ({"channels": [DEFAULT, *({"name": f"c{n}"} for n in range(16))]}, "spec.channels"),
    (channel(parallelism=0), "spec.channels[0].parallelism"),
    (channel(parallelism=129), "spec.channels[0].parallelism"),
    (channel(monotonic=True, acknowledged=True), "spec.channels[0].acknowledged"),
    *(
        (channel(queueLimit=size), "spec.channels[0].queueLimit")
        for size in ("1Ki", 2**40, "2Gi", "-8Mi", -1, 0, "", "8MB", "8 Mi", "1e9", "8388608500m")
    ),
    # Two million connections of each node.
    (
        {
            "replicas": 1024,
            **overlay("FullMesh", "fullMesh", allowLarge=True),
            "channels": [DEFAULT, *({"name": f"c{n}", "parallelism": 128} for n in range(15))],
        },
        "spec.channels",
    ),
    (
        {
            "replicas": 1024,
            **overlay("ClientServer"),
            "channels": [{**DEFAULT, "parallelism": 64}],
        },
        "spec.channels",
    ),
    (
        {
            "replicas": 500,
            **overlay("HyParView", "hyParView", activeMax=64),
            "channels": [DEFAULT, *({"name": f"c{n}", "parallelism": 128} for n in range(4))],
        },
        "spec.channels",
    ),
    # More ports than an Erlang node has, in both directions together; processes, with TLS.
    (
        {"replicas": 256, **overlay("FullMesh"), "channels": [{**DEFAULT, "parallelism": 32}]},
        "spec.channels",
    ),
    (
        {
            "replicas": 256,
            **overlay("FullMesh"),
            "channels": [{**DEFAULT, "parallelism": 8}],
            "security": {"tls": {"clusterCa": {}}},
        },
        "spec.channels",
    ),
    # More than a node has memory.
    (channel(parallelism=128, queueLimit="1Gi"), "spec.channels"),
    (channel(parallelism=8, queueLimit="1Gi"), "spec.channels"),
    (channel(queueLimit="1Gi"), "spec.channels"),
    ({**channel(queueLimit="1Gi"), **resources(limits={"memory": "256Mi"})}, "spec.channels"),
    ({**channel(parallelism=16), **resources(limits={"memory": "64Mi"})}, "spec.channels"),
    ({"replicas": 1024, **counter(ads=1024)}, "spec.workload"),
    # Gigabytes a second, of whole states.
    (
        {
            "replicas": 1024,
            "workload": {
                "adCounter": {**COUNTER, "ads": 128, "propagationInterval": "99ms"},
                "synchronization": "State",
            },
        },
        "spec.workload.adCounter.propagationInterval",
    ),
]

WORKLOADS: list[Row] = [
    ({"workload": {}}, "spec.workload"),
    ({"workload": {"adCounter": {}}}, "spec.workload.adCounter.impressions"),
    ({"workload": {"adCounter": COUNTER, "custom": {"module": "rumours"}}}, "adCounter or custom"),
    ({"workload": {"adCounter": COUNTER, "synchronization": "Gossip"}}, "synchronization"),
    *(
        (
            {**custom(), "workload": {**custom()["workload"], "synchronization": mode}},
            "synchronization",
        )
        for mode in ("State", "Delta", "Tree", "Aggregate")
    ),
    *(
        (custom(module=name), "spec.workload.custom.module")
        for name in ("", "Elixir.Rumours", "1a", "a-b", "ä", "a b", "a" * 65, "adcounter")
    ),
    (custom(arguments=[ARGUMENT, ARGUMENT]), "spec.workload.custom.arguments[1]"),
    (custom(arguments=[{"name": "Big", "value": 1}]), "spec.workload.custom.arguments"),
    (custom(arguments=[{"name": "a"}]), "spec.workload.custom.arguments[0].value"),
    (custom(arguments=[{"name": "a", "value": 1.5}]), "spec.workload.custom.arguments[0].value"),
    (custom(arguments=[{"name": "a", "value": True}]), "spec.workload.custom.arguments[0].value"),
    (custom(arguments=[{"name": "a", "value": "x" * 1025}]), "spec.workload.custom.arguments"),
    (custom(arguments=[{"name": "a", "value": 2**70}]), "spec.workload.custom.arguments"),
]

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

HOSTILE: dict[str, list[Row]] = {
    "overlay": OVERLAYS,
    "number": NUMBERS,
    "duration": DURATIONS,
    "channel": CHANNELS,
    "workload": WORKLOADS,
    "resource": RESOURCES,
    "pod": PODS,
    "application": APPLICATIONS,
    "reference": REFERENCES,
    "scheduling": SCHEDULING,
}
"""All of them, by class."""

UNUSUAL: list[Spec] = [
    {"replicas": 1},
    {"replicas": 1024},
    {"replicas": 1024, **overlay("FullMesh", "fullMesh", allowLarge=True)},
    static(64, *([low, high] for high in range(64) for low in range(high))),
    static(1024, *([n - 1, n] for n in range(1, 1024))),
    static(64, *([min(n, 5), max(n, 5)] for n in range(64) if n != 5)),
    static(64, *([n, 62 - n] for n in range(31)), *([62 - n, n + 1] for n in range(31)), [31, 63]),
    static(64, *([low, high] for low in range(0, 64, 2) for high in range(1, 64, 2))),
    static(6, [0, 3], [3, 1], [1, 5], [5, 2], [2, 4]),
    static(3, [2, 0], [1, 0]),
    static(4, [0, 1], [1, 3], [3, 2]),
    {"replicas": 1024, **overlay("Static", "static", pattern="Ring")},
    {**static(1024, *([n - 1, n] for n in range(1, 1024))), **tls(clusterCa={})},
    {"replicas": 256, **overlay("FullMesh"), **tls(clusterCa={})},
    {"replicas": 256, **overlay("FullMesh"), "channels": [{**DEFAULT, "parallelism": 30}]},
    {"channels": [DEFAULT, *({"name": f"c{n}", "parallelism": 4} for n in range(15))]},
    channel(parallelism=64),
    {**channel(parallelism=128), **resources(limits={"memory": "1Gi"})},
    {**channel(queueLimit="1Gi"), **resources(limits={"memory": "2Gi"})},
    channel(queueLimit="8388608"),
    channel(queueLimit="1.5Mi"),
    channel(queueLimit="1.5Mi"),
    {**channel(queueLimit="16Mi"), **resources(limits={"memory": "64Mi"})},
    counter(incrementInterval="1m30.5s", propagationInterval="10ms"),
    counter(ads=1024),
    {"replicas": 1024, **counter(ads=128, propagationInterval="10ms")},
    {
        "replicas": 1024,
        "workload": {
            "adCounter": {**COUNTER, "ads": 10, "propagationInterval": "10ms"},
            "synchronization": "State",
        },
    },
    custom(),
    custom(arguments=[{"name": "text", "value": "Größe\n'\"\\"}, {"name": "n", "value": -(2**63)}]),
    resources(requests={}),
    resources(requests={"cpu": 0, "memory": 0}),
    resources(requests={"cpu": "0.5", "memory": "18Mi"}, limits={"cpu": 64, "memory": "1.5Gi"}),
    resources(requests={"memory": "32Mi"}, limits={"memory": "32Mi"}),
    resources(requests={"memory": "129e6"}, limits={"memory": "129000000000m"}),
    resources(limits={"memory": "48Mi", "ephemeral-storage": "1Gi", "example.com/device": 1}),
    {"image": "node"},
    {"image": "localhost/team/node:dev"},
    {"image": "registry.example.com:5000/a/b__c/d-e.f:1.2-rc_3@sha256:" + "0" * 64},
    {"image": "10.0.0.1:5000/node@sha256:" + "a" * 64},
    {"image": "[2001:db8::1]:5000/team/node:1"},
    {"image": "[fd00::10]/node@sha256:" + "0" * 64},
    {"imagePullSecrets": [{"name": "a.b-c"}, {"name": "1"}]},
    {"priorityClassName": "system-cluster-critical"},
    pods(labels={"team": "", "example.org/A.b_c": "V.1_2-x", "app.kubernetes.io/component": "a"}),
    pods(annotations={"example.org/owner": "ü\n" * 1000, "prometheus.io/scrape": "true"}),
    pods(annotations={"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}),
    pods(annotations={"checksum/config": "0a1b"}),
    variable("LDAP_URL"),
    variable("_a.b-c", value=""),
    variable("ERLANG", valueFrom={"configMapKeyRef": {"name": "a.b", "key": ".file_1.txt"}}),
    pods(env=[{"name": f"V{n}", "value": "x" * 4096} for n in range(64)]),
    pods(envFrom=[{"secretRef": {"name": "a"}}, {"prefix": "MORE_", "secretRef": {"name": "a"}}]),
    {"nodeSelector": {"kubernetes.io/hostname": "Node.1", "beta": ""}},
    {"nodeSelector": {f"{LONGEST_PREFIX}/{'a' * 63}": ""}},
    resources(limits={f"{LONGEST_PREFIX[9:]}/{'b' * 63}": 1}),
    {"tolerations": [{"operator": "Exists"}]},
    {
        "tolerations": [
            {"key": "a.b/c", "value": "d", "effect": "NoExecute", "tolerationSeconds": 0}
        ]
    },
    {"tolerations": [{"key": f"k{n}", "operator": "Exists"} for n in range(16)]},
    {"topologySpreadConstraints": []},
    spread(minDomains=3, nodeAffinityPolicy="Honor", nodeTaintsPolicy="Ignore"),
    spread(matchLabelKeys=["controller-revision-hash"]),
    {"affinity": {}},
    node_affinity(operator="Gt", values=["4"]),
    node_affinity(operator="DoesNotExist", values=None),
    required_nodes(
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a.b"]}]}
    ),
    anti_affinity(namespaces=["a"], namespaceSelector={}, mismatchLabelKeys=["a"]),
    preferred(100),
    tls(secretName="bad-tls", serverName="ads.default.svc"),
    tls(issuerRef={"name": "a", "kind": "ClusterIssuer"}),
    tls(clusterCa={}),
    {"rollout": {"maxUnavailable": "100%"}},
    {"heartbeatInterval": "1m"},
    {"metrics": {"podMonitor": "Disabled"}},
    {"metrics": {"podMonitor": "Enabled", "interval": "5m", "labels": {"release": "prometheus"}}},
    {"image": "localhost:65535/a--b"},
    {"image": f"registry.example.com/a.b__c---d/{'a' * 120}/{'a' * 102}:{'t' * 128}"},
    {"image": "xn--80ak6aa92e.com:60000/a-b/c"},
    {"image": "[fd00::0:1]:5000/a"},
    channel(queueLimit="0.5Mi"),
    channel(queueLimit="129000000000m"),
    overlay("HyParView", "hyParView", activeMin=6),
    overlay("Static", "static", pattern="Tree"),
    {"replicas": 2, "discovery": {"seeds": 8}},
    resources(requests={"cpu": "0.3"}, limits={"cpu": "300m"}),
    resources(requests={"cpu": "1.000", "memory": 67108864}),
    resources(requests={"memory": "1.5Gi"}, limits={"memory": "1536Mi"}),
    resources(requests={"example.com/device": 1}, limits={"example.com/device": "1"}),
    pods(
        annotations={
            "dapr.io/enabled": "false",
            "kuma.io/sidecar-injection": "disabled",
            "linkerd.io/inject": "disabled",
            "sidecar.istio.io/inject": "false",
            "vault.hashicorp.com/agent-inject": "false",
        }
    ),
    pods(labels={"sidecar.istio.io/inject": "false", "kuma.io/sidecar-injection": "disabled"}),
    variable("http_proxy", value="http://user:word@proxy.example.org:3128"),
    variable("MESSAGE", value="$(POD_NAME)"),
    {"tolerations": [{"key": "a", "effect": "NoExecute", "tolerationSeconds": -1}]},
    anti_affinity(labelSelector={"matchLabels": {"a": "b"}}, mismatchLabelKeys=["a"]),
    node_affinity(operator="In", values=[f"n{n}" for n in range(64)]),
    tls(secretName="a", serverName="1.example.org"),
    tls(clusterCa={"duration": "48h", "certificateDuration": "24h", "renewBefore": "12h"}),
    {"metrics": {"podMonitor": "Disabled", "interval": "15s"}},
    *UNUSUAL_APPLICATIONS,
]
"""Specs that are rare, large, or close to a bound, and must be accepted."""
