"""The cluster's programs, built from the Go modules pinned in `tools/`."""

from pathlib import Path

from scale_tests.localkube.toolset import Toolset, module_version

TOOLS = Path(__file__).with_name("tools")

KUBERNETES = module_version("k8s.io/kubernetes", TOOLS)
"""This checkout's version of Kubernetes."""

PACKAGES = {
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kube-proxy": "k8s.io/kubernetes/cmd/kube-proxy",
    "kubelet": "k8s.io/kubernetes/cmd/kubelet",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "etcd": "go.etcd.io/etcd/server/v3",
    "helm": "helm.sh/helm/v3/cmd/helm",
    "coredns": "./coredns",
    "pause": "./pause",
}
"""The programs, by the name they are kept under, with the Go package each is made from."""

_STAMPS = {
    "k8s.io/component-base/version.gitVersion": KUBERNETES,
    "k8s.io/component-base/version.gitMajor": KUBERNETES.removeprefix("v").split(".")[0],
    "k8s.io/component-base/version.gitMinor": KUBERNETES.split(".")[1],
    "helm.sh/helm/v3/internal/version.version": module_version("helm.sh/helm/v3", TOOLS),
}
"""Versions in the programs: kubectl and Helm refuse to work without theirs."""

TOOLSET = Toolset(
    name=KUBERNETES,
    directory=TOOLS,
    programs=PACKAGES,
    linker_flags="-s -w " + " ".join(f"-X {symbol}={value}" for symbol, value in _STAMPS.items()),
)
"""The programs of this checkout's version of Kubernetes; symbols are stripped."""
