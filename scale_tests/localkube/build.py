"""The cluster's programs, built from the Go modules pinned in `tools/`."""

import re
from pathlib import Path

from scale_tests.host.commands import ExpectedError
from scale_tests.localkube.toolset import Toolset

TOOLS = Path(__file__).with_name("tools")

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


def module_version(module: str, directory: Path = TOOLS) -> str:
    """The version of `module` that the go.mod of a directory requires. Raises ExpectedError."""
    go_mod = (directory / "go.mod").read_text()
    found = re.search(rf"^(?:require)?\s+{re.escape(module)} (v\S+)", go_mod, re.MULTILINE)
    if not found:
        raise ExpectedError(f"tools/go.mod requires no {module}")
    return found.group(1)


def version() -> str:
    """This checkout's version of Kubernetes. Raises ExpectedError."""
    return module_version("k8s.io/kubernetes")


def toolset() -> Toolset:
    """The programs of this checkout's version of Kubernetes. Raises ExpectedError."""
    return Toolset(name=version(), directory=TOOLS, programs=PACKAGES, linker_flags=_linker_flags())


def bin_directory() -> Path:
    """The directory of the programs of this checkout's version, built or not."""
    return toolset().bin_directory


def ensure_built() -> Path:
    """Builds the programs unless cached; returns their directory. Raises ExpectedError."""
    return toolset().ensure_built()


def _linker_flags() -> str:
    """Strips symbols and stamps versions: kubectl and Helm refuse to work without theirs."""
    kubernetes = version()
    major, minor, _patch = kubernetes.removeprefix("v").split(".", 2)
    stamps = {
        "k8s.io/component-base/version.gitVersion": kubernetes,
        "k8s.io/component-base/version.gitMajor": major,
        "k8s.io/component-base/version.gitMinor": minor,
        "helm.sh/helm/v3/internal/version.version": module_version("helm.sh/helm/v3"),
    }
    return "-s -w " + " ".join(f"-X {symbol}={value}" for symbol, value in stamps.items())
