"""Texts that are no name, key, value, image, variable or duration, and must be refused."""

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
