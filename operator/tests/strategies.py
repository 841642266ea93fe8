"""Random specs that the API server would accept."""

from typing import Any

from hypothesis import strategies as st

durations = st.sampled_from(["1ms", "500ms", "1s", "1.5s", "10s", "1m30s", "2h"])

overlays = st.one_of(
    st.just({"kind": "HyParView"}),
    st.builds(
        lambda most, least: {
            "kind": "HyParView",
            "hyParView": {"activeMax": max(most, least, 2), "activeMin": min(most, least)},
        },
        st.integers(1, 64),
        st.integers(1, 64),
    ),
    st.just({"kind": "FullMesh", "fullMesh": {"allowLarge": True}}),
    st.just({"kind": "ClientServer", "clientServer": {"servers": 1}}),
    st.just({"kind": "PublishSubscribe"}),
    st.just({"kind": "Custom", "custom": {"module": "circle"}}),
    st.sampled_from(["XBot", "ScampV1", "ScampV2", "HiScamp", "Cyclon"]).map(
        lambda kind: {"kind": kind}
    ),
    st.sampled_from(["Ring", "Tree"]).map(
        lambda pattern: {"kind": "Static", "static": {"pattern": pattern}}
    ),
)

channels = st.lists(
    st.from_regex(r"[a-z][a-z0-9_]{0,20}", fullmatch=True).filter(lambda n: n != "overlay"),
    max_size=5,
    unique=True,
).flatmap(
    lambda names: st.tuples(
        *(
            st.fixed_dictionaries(
                {"name": st.just(name)},
                optional={
                    "acknowledged": st.booleans(),
                    "queueLimit": st.sampled_from(["4Ki", "8Mi", "8388608", 65536]),
                },
            )
            for name in dict.fromkeys(["default", *names])
        )
    ).map(list)
)

pods = st.fixed_dictionaries(
    {},
    optional={
        "labels": st.just({"team": "overlay"}),
        "annotations": st.just({"example.org/owner": "me"}),
        "env": st.just([{"name": "COLOUR", "value": "blue"}]),
        "envFrom": st.just([{"secretRef": {"name": "more"}}]),
        "volumes": st.just([{"name": "data", "emptyDir": {}}]),
        "configFiles": st.just([{"configMap": "app", "mountPath": "/etc/app"}]),
        "serviceAccountName": st.sampled_from(["", "app"]),
        "automountServiceAccountToken": st.booleans(),
        "emulatorArguments": st.just([{"flag": "+hmax", "values": ["1000000"]}]),
        "ports": st.just([{"name": "api", "port": 9000}]),
        "sidecars": st.just([{"name": "proxy", "image": "proxy:1"}]),
        "initContainers": st.just([{"name": "first", "image": "tools:1", "command": ["true"]}]),
    },
)

arguments = st.dictionaries(
    st.from_regex(r"[a-z][A-Za-z0-9_]{0,20}", fullmatch=True),
    st.one_of(st.integers(-(2**63), 2**63 - 1), st.text(max_size=40)),
    max_size=4,
).map(lambda given: [{"name": name, "value": value} for name, value in given.items()])

workloads = st.one_of(
    st.none(),
    st.builds(lambda given: {"custom": {"module": "rumours", "arguments": given}}, arguments),
    st.builds(
        lambda impressions, interval, mode: {
            "adCounter": {"impressions": impressions, "incrementInterval": interval},
            "synchronization": mode,
        },
        st.integers(1, 10**12),
        durations,
        st.sampled_from(["State", "Delta", "Tree", "Aggregate"]),
    ),
)


def specs(max_replicas: int = 1024) -> st.SearchStrategy[dict[str, Any]]:
    """Return random specs of up to that many replicas."""
    return st.builds(
        lambda **fields: {key: value for key, value in fields.items() if value is not None},
        replicas=st.integers(1, max_replicas),
        overlay=overlays,
        channels=channels,
        workload=workloads,
        heartbeatInterval=st.sampled_from(["5s", "1m"]),
        discovery=st.builds(lambda seeds: {"seeds": seeds}, st.integers(1, 8)),
        pods=pods,
        metrics=st.builds(
            lambda mode: {"podMonitor": mode}, st.sampled_from(["Auto", "Enabled", "Disabled"])
        ),
        networkPolicy=st.builds(lambda enabled: {"enabled": enabled}, st.booleans()),
        rollout=st.builds(
            lambda most: {"maxUnavailable": most},
            st.one_of(st.integers(1, 40), st.integers(1, 100).map(lambda n: f"{n}%")),
        ),
        image=st.sampled_from(["", "node:2", "node:3"]),
    )
