"""Additions of applications to their pods: specs that are refused, and unusual ones."""

from collections.abc import Iterable
from typing import Any

from scale_tests.e2e.specs import Row, Spec, pods


def volume(**fields: Any) -> Spec:
    return pods(volumes=[{"name": "data", **fields}])


def mounted(path: str, **fields: Any) -> Spec:
    mount = {"name": "data", "mountPath": path, **fields}
    return pods(volumes=[{"name": "data", "emptyDir": {}}], volumeMounts=[mount])


def files(path: str, **fields: Any) -> Spec:
    return pods(configFiles=[{"configMap": "app", "mountPath": path, **fields}])


STORAGE: Spec = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Mi"}},
}
"""The spec of a claim."""


def claimed(*names: str, **fields: Any) -> Spec:
    """Pods with claims of these names."""
    claims = [{"name": name, "spec": STORAGE} for name in names]
    return pods(volumeClaimTemplates=claims, **fields)


def argument(flag: str, *values: str) -> Spec:
    return pods(emulatorArguments=[{"flag": flag, "values": list(values)}])


def rows(specs: Iterable[Spec], field: str) -> list[Row]:
    return [(spec, field) for spec in specs]


NOT_PERMITTED = (
    "hostPath",
    "nfs",
    "iscsi",
    "rbd",
    "cephfs",
    "fc",
    "flexVolume",
    "gitRepo",
    "awsElasticBlockStore",
    "local",
    "image",
)
"""Kinds of volumes that the Pod Security Standard `restricted` does not list."""

BAD_PATHS = ("", "data", "/", "/a/", "//a", "/a/../b", "/a/.", "/..", "/a:b", "/a b", "/ä", "/a\n")

RUNTIME_PATHS = (
    "/etc",
    "/etc/partisan",
    "/etc/partisan/config",
    "/etc/partisan/own",
    "/opt",
    "/opt/partisan/lib",
    "/var",
    "/var/lib/partisan/console",
    "/dev",
    "/proc",
    "/proc/sys",
    "/sys/fs",
    "/dev/termination-log",
)

VOLUMES: list[Row] = [
    *((volume(**{kind: {"path": "/"}}), f"spec.pods.volumes[0].{kind}") for kind in NOT_PERMITTED),
    *rows([volume(), volume(emptyDir={}, secret={"secretName": "a"})], "spec.pods.volumes[0]"),
    *(
        (pods(volumes=[{"name": name, "emptyDir": {}}]), "spec.pods.volumes[0].name")
        for name in (
            *("", "A", "a.b", "-a", "a-", "a" * 64),
            *("config", "secret", "state", "bearer", "tls", "partisan-files-1"),
        )
    ),
    (pods(volumes=[{"name": "a", "emptyDir": {}}] * 2), "spec.pods.volumes"),
    (pods(volumes=[{"name": f"v{n}", "emptyDir": {}} for n in range(17)]), "spec.pods.volumes"),
    (volume(emptyDir={"medium": "HugePages"}), "emptyDir.medium"),
    (volume(emptyDir={"sizeLimit": "much"}), "emptyDir.sizeLimit"),
    (volume(configMap={}), "configMap.name"),
    (volume(configMap={"name": "A"}), "configMap.name"),
    (volume(secret={}), "secret.secretName"),
    (volume(secret={"name": "a"}), "spec.pods.volumes[0].secret.name"),
    (volume(secret={"secretName": "a", "defaultMode": 0o1000}), "secret.defaultMode"),
    *(
        (volume(configMap={"name": "a", "items": [{"key": "k", "path": path}]}), "items[0].path")
        for path in ("", "/a", "../a", "a/..", "a//b", "a/")
    ),
    (volume(configMap={"name": "a", "items": [{"key": "a/b", "path": "a"}]}), "items[0].key"),
    (volume(persistentVolumeClaim={}), "persistentVolumeClaim.claimName"),
    (volume(csi={}), "csi.driver"),
    (volume(projected={"sources": []}), "projected.sources"),
    (volume(projected={"sources": [{}]}), "projected.sources[0]"),
    (
        volume(projected={"sources": [{"secret": {"name": "a"}, "configMap": {"name": "a"}}]}),
        "projected.sources[0]",
    ),
    (
        volume(
            projected={"sources": [{"serviceAccountToken": {"path": "a", "expirationSeconds": 60}}]}
        ),
        "serviceAccountToken.expirationSeconds",
    ),
    (volume(ephemeral={}), "ephemeral.volumeClaimTemplate"),
    (
        volume(
            ephemeral={
                "volumeClaimTemplate": {
                    "spec": {"accessModes": [], "resources": {"requests": {"storage": "1Gi"}}}
                }
            }
        ),
        "accessModes",
    ),
    (
        volume(
            ephemeral={
                "volumeClaimTemplate": {
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {}}}
                }
            }
        ),
        "requests.storage",
    ),
    *((mounted(path), "spec.pods.volumeMounts[0].mountPath") for path in BAD_PATHS),
    *((mounted(path), "spec.pods.volumeMounts[0].mountPath") for path in RUNTIME_PATHS),
    (mounted("/a", subPath="../b"), "spec.pods.volumeMounts[0].subPath"),
    (mounted("/a", mountPropagation="Bidirectional"), "spec.pods.volumeMounts[0].mountPropagation"),
    (mounted("/a", name="other"), "spec.pods.volumeMounts"),
    (pods(volumeMounts=[{"name": "secret", "mountPath": "/a"}]), "spec.pods.volumeMounts"),
    (pods(volumeMounts=[{"name": "data", "mountPath": "/a"}]), "spec.pods.volumeMounts"),
    *(
        (files(path), "spec.pods.configFiles[0].mountPath")
        for path in (*BAD_PATHS, "/etc/partisan")
    ),
    (pods(configFiles=[{"mountPath": "/a"}]), "spec.pods.configFiles[0].configMap"),
    (pods(configFiles=[{"configMap": "A", "mountPath": "/a"}]), "configFiles[0].configMap"),
    (pods(configFiles=[{"configMap": "a", "mountPath": "/a"}] * 2), "spec.pods.configFiles"),
    ({"pods": {**mounted("/a")["pods"], **files("/a")["pods"]}}, "spec.pods.configFiles"),
]


def sidecar(**fields: Any) -> Spec:
    return pods(sidecars=[{"name": "proxy", "image": "proxy:1", **fields}])


def secured(**fields: Any) -> Spec:
    return sidecar(securityContext=fields)


def probe(**fields: Any) -> Spec:
    return sidecar(readinessProbe=fields)


SECURITY = "spec.pods.sidecars[0].securityContext"

CLAIMS: list[Row] = [
    *(
        (claimed(name), "spec.pods.volumeClaimTemplates[0].name")
        for name in ("", "A", "a.b", "a" * 64, "state", "partisan-files-1")
    ),
    (pods(volumeClaimTemplates=[{"name": "a"}]), "volumeClaimTemplates[0].spec"),
    (
        pods(volumeClaimTemplates=[{"name": "a", "spec": {**STORAGE, "accessModes": []}}]),
        "spec.accessModes",
    ),
    (
        pods(volumeClaimTemplates=[{"name": "a", "spec": {**STORAGE, "volumeName": "b"}}]),
        "spec.volumeName",
    ),
    (claimed("a", "a"), "spec.pods.volumeClaimTemplates"),
    (claimed("a", "b", "c", "d", "e"), "spec.pods.volumeClaimTemplates"),
    (claimed("a", volumes=[{"name": "a", "emptyDir": {}}]), "spec.pods.volumeClaimTemplates"),
    (claimed("a", stateClaim="b"), "spec.pods.stateClaim"),
    (pods(stateClaim="a"), "spec.pods.stateClaim"),
    (
        claimed("a", stateClaim="a", volumeMounts=[{"name": "a", "mountPath": "/a"}]),
        "spec.pods.volumeMounts",
    ),
    (
        claimed("a", persistentVolumeClaimRetentionPolicy={"whenDeleted": "Recycle"}),
        "persistentVolumeClaimRetentionPolicy.whenDeleted",
    ),
]

CONTAINERS: list[Row] = [
    *(
        (pods(**{kind: [{"name": name, "image": "a"}]}), f"spec.pods.{kind}[0].name")
        for kind in ("sidecars", "initContainers")
        for name in ("", "A", "a.b", "-a", "a" * 64, "node")
    ),
    (pods(sidecars=[{"name": "a"}]), "spec.pods.sidecars[0].image"),
    *((sidecar(image=image), "sidecars[0].image") for image in ("", "A b", "Upper/case", "a@b")),
    (pods(sidecars=[{"name": "a", "image": "a"}] * 2), "spec.pods.sidecars"),
    (
        pods(sidecars=[{"name": "a", "image": "a"}], initContainers=[{"name": "a", "image": "a"}]),
        "spec.pods.sidecars",
    ),
    (pods(sidecars=[{"name": f"a{n}", "image": "a"} for n in range(9)]), "spec.pods.sidecars"),
    (secured(privileged=True), f"{SECURITY}.privileged"),
    (secured(allowPrivilegeEscalation=True), f"{SECURITY}.allowPrivilegeEscalation"),
    (secured(runAsNonRoot=False), f"{SECURITY}.runAsNonRoot"),
    (secured(runAsUser=0), f"{SECURITY}.runAsUser"),
    (secured(capabilities={"add": ["SYS_ADMIN"]}), f"{SECURITY}.capabilities.add"),
    (secured(capabilities={"drop": []}), f"{SECURITY}.capabilities.drop"),
    (secured(capabilities={"drop": ["KILL"]}), f"{SECURITY}.capabilities.drop"),
    (secured(seccompProfile={"type": "Unconfined"}), f"{SECURITY}.seccompProfile.type"),
    (secured(procMount="Unmasked"), f"{SECURITY}.procMount"),
    (secured(seLinuxOptions={"type": "spc_t"}), f"{SECURITY}.seLinuxOptions"),
    (sidecar(ports=[{"containerPort": 80, "hostPort": 80}]), "sidecars[0].ports"),
    (sidecar(restartPolicy="Never"), "sidecars[0].restartPolicy"),
    (sidecar(volumeDevices=[{"name": "a", "devicePath": "/dev/a"}]), "sidecars[0].volumeDevices"),
    (sidecar(volumeMounts=[{"name": "secret", "mountPath": "/a"}]), "spec.pods.sidecars"),
    (sidecar(volumeMounts=[{"name": "config", "mountPath": "/a"}]), "spec.pods.sidecars"),
    (sidecar(volumeMounts=[{"name": "a", "mountPath": "a"}]), "volumeMounts[0].mountPath"),
    (
        pods(
            initContainers=[
                {"name": "a", "image": "a", "volumeMounts": [{"name": "b", "mountPath": "/c"}]}
            ]
        ),
        "spec.pods.initContainers",
    ),
    (sidecar(env=[{"name": "1A", "value": "a"}]), "env[0].name"),
    (sidecar(env=[{"name": "A", "value": 1}]), "env[0].value"),
    (sidecar(env=[{"name": "A", "value": "a", "valueFrom": {}}]), "env[0]"),
    (sidecar(env=[{"name": "A", "valueFrom": {}}]), "env[0].valueFrom"),
    (
        sidecar(env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "A", "key": "k"}}}]),
        "secretKeyRef.name",
    ),
    (sidecar(envFrom=[{}]), "envFrom[0]"),
    (sidecar(resources={"limits": {"memory": "much"}}), "resources.limits.memory"),
    (probe(), "readinessProbe"),
    (probe(tcpSocket={"port": 80}, httpGet={"port": 80}), "readinessProbe"),
    (probe(tcpSocket={"port": 0}), "tcpSocket.port"),
    (probe(httpGet={"port": 80, "host": "10.0.0.1"}), "httpGet.host"),
    (
        pods(initContainers=[{"name": "a", "image": "a", "livenessProbe": {"exec": {}}}]),
        "initContainers[0].livenessProbe",
    ),
]


def port(name: str, number: Any, **fields: Any) -> Spec:
    return pods(ports=[{"name": name, "port": number, **fields}])


PORTS: list[Row] = [
    *(
        (port("a", number), "spec.pods.ports[0].port")
        for number in (0, -1, 65536, "80", 7946, 8080)
    ),
    *(
        (port(name, 9000), "spec.pods.ports[0].name")
        for name in (
            *("", "A", "a_b", "-a", "a-", "a--b", "80", "a" * 16),
            *("http", "https", "partisan"),
        )
    ),
    (port("a", 9000, protocol="tcp"), "spec.pods.ports[0].protocol"),
    (port("a", 9000, hostPort=9000), "spec.pods.ports[0].hostPort"),
    (pods(ports=[{"name": "a"}]), "spec.pods.ports[0].port"),
    (pods(ports=[{"name": "a", "port": 1}, {"name": "a", "port": 2}]), "spec.pods.ports"),
    (pods(ports=[{"name": "a", "port": 1}, {"name": "b", "port": 1}]), "spec.pods.ports"),
    (pods(ports=[{"name": f"a{n}", "port": n} for n in range(1, 18)]), "spec.pods.ports"),
]

SETTINGS: list[Row] = [
    *(
        (pods(serviceAccountName=name), "spec.pods.serviceAccountName")
        for name in ("A", "a b", "-a")
    ),
    (pods(automountServiceAccountToken="true"), "spec.pods.automountServiceAccountToken"),
    *((pods(runtimeClassName=name), "spec.pods.runtimeClassName") for name in ("A", "a b", "-a")),
    *(
        (pods(terminationGracePeriodSeconds=seconds), "spec.pods.terminationGracePeriodSeconds")
        for seconds in (0, 14, 3601, "30s")
    ),
    (pods(dnsConfig={"nameservers": ["dns.example.org"]}), "dnsConfig.nameservers[0]"),
    (pods(dnsConfig={"nameservers": ["10.0.0.1"] * 4}), "dnsConfig.nameservers"),
    (pods(dnsConfig={"searches": ["a b"]}), "dnsConfig.searches[0]"),
    (pods(dnsConfig={"options": [{"name": "a"}, {"name": "a"}]}), "dnsConfig.options"),
    (pods(dnsPolicy="Default"), "spec.pods.dnsPolicy"),
    (pods(probes={"startup": {"failureThreshold": 1}}), "startup.failureThreshold"),
    (pods(probes={"startup": {"periodSeconds": 1}}), "startup.periodSeconds"),
    (pods(probes={"liveness": {"timeoutSeconds": 0}}), "liveness.timeoutSeconds"),
    (pods(probes={"readiness": {"httpGet": {"port": 80}}}), "readiness.httpGet"),
]

REFUSED_FLAGS = (
    *("-sname", "-name", "-setcookie", "-proto_dist", "-remsh", "-kernel", "-start_epmd"),
    *("-args_file", "-config", "-boot", "-extra", "-env", "-noshell", "-mode", "+V", "+i"),
    *("-partisan", "-node", "-lasp", "-workloads", "-eval", "-run", "-s"),
)

ARGUMENTS: list[Row] = [
    *((argument(flag), "emulatorArguments[0].flag") for flag in REFUSED_FLAGS),
    *(
        (argument(flag), "emulatorArguments[0].flag")
        for flag in ("", "+", "-", "--", "hmax", "+P100", "-my-app", "-A", "+a b", "+" + "a" * 64)
    ),
    *(
        (argument("-my_app", value), "emulatorArguments[0].values[0]")
        for value in ("", "-sname", "+V", "$(POD_NAME)", "a$b", "a" * 1025)
    ),
    *(
        (argument("+P", *values), "emulatorArguments[0].values")
        for values in ((), ("16383",), ("many",), ("20000", "1"), ("legacy",))
    ),
    (argument("+Q", "1024"), "emulatorArguments[0].values"),
    (pods(emulatorArguments=[{"flag": "+c"}, {"flag": "+c"}]), "spec.pods.emulatorArguments"),
    (pods(emulatorArguments=["+c"]), "spec.pods.emulatorArguments[0]"),
]

OVERRIDES: list[Row] = [
    (pods(override={}), "spec.pods.override.spec"),
    (pods(override={"spec": []}), "spec.pods.override.spec"),
    (pods(override={"spec": {}, "metadata": {"labels": {}}}), "spec.pods.override.metadata"),
]

APPLICATIONS: list[Row] = [
    *VOLUMES,
    *CLAIMS,
    *CONTAINERS,
    *PORTS,
    *SETTINGS,
    *ARGUMENTS,
    *OVERRIDES,
]
"""Specs that are refused, and the field that the refusal names."""

UNUSUAL_APPLICATIONS: list[Spec] = [
    pods(volumes=[]),
    volume(emptyDir={"medium": "Memory", "sizeLimit": "1.5Gi"}),
    volume(configMap={"name": "a.b", "items": [{"key": ".k", "path": "a/.b"}]}),
    volume(secret={"secretName": "a", "defaultMode": 0o400, "optional": True}),
    volume(persistentVolumeClaim={"claimName": "a", "readOnly": True}),
    volume(csi={"driver": "a.example.org", "readOnly": True, "volumeAttributes": {"a": "b"}}),
    volume(
        downwardAPI={"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}
    ),
    volume(
        projected={
            "sources": [
                {"serviceAccountToken": {"path": "token", "audience": "vault"}},
                {"configMap": {"name": "a", "items": [{"key": "b", "path": "c"}]}},
                {"secret": {"name": "a", "optional": True}},
                {
                    "downwardAPI": {
                        "items": [{"path": "n", "fieldRef": {"fieldPath": "metadata.name"}}]
                    }
                },
            ]
        }
    ),
    volume(
        ephemeral={
            "volumeClaimTemplate": {
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                }
            }
        }
    ),
    mounted("/tmp"),
    mounted("/dev/shm"),
    mounted("/etc/app", subPath="a/b", readOnly=True),
    mounted("/etc/partisans"),
    {"pods": {**mounted("/srv/a")["pods"], **files("/srv/b", optional=True)["pods"]}},
    pods(serviceAccountName="default", automountServiceAccountToken=True),
    pods(serviceAccountName=""),
    pods(terminationGracePeriodSeconds=15, runtimeClassName=""),
    pods(
        dnsConfig={
            "nameservers": ["10.0.0.53", "fd00::53"],
            "searches": ["example.org", "a."],
            "options": [{"name": "ndots", "value": "2"}, {"name": "rotate"}],
        }
    ),
    pods(
        probes={
            "startup": {"failureThreshold": 100_000},
            "readiness": {"periodSeconds": 1, "failureThreshold": 1},
            "liveness": {"timeoutSeconds": 300},
        }
    ),
    pods(override={"spec": {}}),
    pods(override={"spec": {"hostUsers": False, "containers": [{"name": "node", "tty": True}]}}),
    argument("+P", "16384"),
    argument("+Q", "1000000"),
    argument("+hmax", "1000000"),
    argument("+sbwt", "very_short"),
    argument("-my_app2", "key", "hello world", "list", '[{a,1},<<"b">>]'),
    argument("+c"),
    port("a", 65535),
    port("grpc-api-2", 7946, protocol="UDP"),
    pods(ports=[{"name": "dns", "port": 53}, {"name": "dns-udp", "port": 53, "protocol": "UDP"}]),
    sidecar(),
    sidecar(image="registry.example.com:5000/a/b@sha256:" + "0" * 64, imagePullPolicy="Always"),
    sidecar(command=["sh", "-c", "sleep 1"], args=[""], workingDir="/srv"),
    sidecar(
        env=[
            {"name": "PATH", "value": "/bin"},
            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "EMPTY"},
        ],
        envFrom=[{"secretRef": {"name": "a", "optional": True}, "prefix": "A_"}],
    ),
    sidecar(resources={"requests": {"cpu": "10m"}, "limits": {"memory": "64Mi", "cpu": 1}}),
    secured(
        privileged=False,
        allowPrivilegeEscalation=False,
        runAsNonRoot=True,
        runAsUser=101,
        runAsGroup=101,
        readOnlyRootFilesystem=False,
        capabilities={"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
        seccompProfile={"type": "Localhost", "localhostProfile": "a.json"},
    ),
    probe(tcpSocket={"port": 80}, periodSeconds=1, failureThreshold=3),
    probe(grpc={"port": 80, "service": "a"}, initialDelaySeconds=0),
    probe(exec={"command": ["true"]}, timeoutSeconds=5),
    probe(httpGet={"port": 443, "path": "/a?b", "scheme": "HTTPS"}),
    pods(
        volumes=[{"name": "data", "emptyDir": {}}],
        initContainers=[
            {
                "name": "seed",
                "image": "tools:1",
                "volumeMounts": [{"name": "data", "mountPath": "/etc/partisan"}],
            }
        ],
    ),
]
"""Specs that are rare and must be accepted."""
