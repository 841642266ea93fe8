"""Overlays, numbers, durations, channels and workloads that must be refused."""

from scale_tests.e2e.hostile_texts import BAD_DURATIONS
from scale_tests.e2e.specs import (
    ARGUMENT,
    COUNTER,
    DEFAULT,
    Row,
    channel,
    counter,
    custom,
    overlay,
    resources,
    static,
)

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
    ({"restore": {}}, "exactly one of configMap and secret"),
    ({"restore": {"configMap": "a", "secret": "b"}}, "exactly one of configMap and secret"),
    ({"restore": {"configMap": "A_b"}}, "spec.restore.configMap"),
    ({"restore": {"secret": ""}}, "spec.restore.secret"),
    ({"workload": None, "restore": {"configMap": "a"}}, "spec.restore"),
]
