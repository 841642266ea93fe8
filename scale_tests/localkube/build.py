"""Builds the cluster's programs from the Go modules pinned in `tools/`, once per version.

The programs are kept in the user's cache under the Kubernetes version and a hash of everything
that goes into them, so every checkout with the same pins shares them.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scale_tests.localkube.errors import LocalkubeError
from scale_tests.localkube.progress import Progress
from scale_tests.localkube.settings import cache_directory

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

LINK_WEIGHT = 1_000_000
"""What linking one program costs, in bytes of source that compile in the same time."""


class BuildError(LocalkubeError):
    """The programs could not be built; the message holds the compiler's last words."""


def module_version(module: str, go_mod: str) -> str:
    """The version that the text of a go.mod requires of `module`.

    Raises:
        BuildError: the module is not required at all.
    """
    found = re.search(rf"^(?:require)?\s+{re.escape(module)} (v\S+)", go_mod, re.MULTILINE)
    if not found:
        raise BuildError(f"tools/go.mod requires no {module}")
    return found.group(1)


def bin_directory() -> Path:
    """Where the programs of this checkout's version are, or will be once they are built."""
    digest = hashlib.sha256(platform.machine().encode())
    sources = [TOOLS / "go.mod", TOOLS / "go.sum", *sorted(TOOLS.glob("*/*.go"))]
    for source in sources:
        digest.update(source.read_bytes())
    version = module_version("k8s.io/kubernetes", (TOOLS / "go.mod").read_text())
    return cache_directory() / "bin" / f"{version}-{digest.hexdigest()[:12]}"


def ensure_built() -> Path:
    """Builds the programs unless they are cached, showing progress, and returns their directory.

    Raises:
        BuildError: Go is missing or a package does not compile.
    """
    target = bin_directory()
    if target.is_dir():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with _only_one(target.parent / ".lock"):
        if not target.is_dir():
            _build(target)
    return target


@contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _build(target: Path) -> None:
    if shutil.which("go") is None:
        raise BuildError("Go is missing: install Go 1.26 or newer (https://go.dev/doc/install)")
    print(f"Building {', '.join(PACKAGES)} into {target}", flush=True)
    costs = _costs()
    partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=target.parent))
    try:
        _compile(partial, costs)
        for name, package in PACKAGES.items():
            made = partial / _default_name(package)
            if made.name != name:
                made.rename(partial / name)
        partial.chmod(0o755)
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _compile(output: Path, costs: dict[str, int]) -> None:
    """Runs `go build`, which names each package on standard error when it is done with it."""
    argv = [
        *("go", "build", "-v", "-trimpath", "-ldflags", _linker_flags(), "-o", f"{output}/"),
        *PACKAGES.values(),
    ]
    other: list[str] = []
    linking = LINK_WEIGHT * len(PACKAGES)
    progress = Progress("compiling", total=sum(costs.values()) + linking)
    with _go(argv, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        for line in process.stderr:
            package = line.strip()
            if package in costs:
                progress.advance(costs[package])
            else:
                other.append(package)
    if process.returncode != 0:
        raise BuildError("go build failed:\n" + "\n".join(other[-20:]))
    progress.finish()


def _costs() -> dict[str, int]:
    """The packages that have to be compiled, with the size of each one's source in bytes.

    This also downloads the modules that are not in Go's module cache yet.
    """
    template = '{{if .Stale}}{{.ImportPath}}\t{{.Dir}}\t{{join .GoFiles "/"}}{{end}}'
    argv = ["go", "list", "-deps", "-trimpath", "-f", template, *PACKAGES.values()]
    progress = Progress("downloading modules")
    errors: list[str] = []
    with tempfile.TemporaryFile("w+") as listing:
        with _go(argv, stdout=listing, stderr=subprocess.PIPE) as process:
            assert process.stderr is not None
            for line in process.stderr:
                if line.startswith("go: downloading"):
                    progress.advance(1)
                else:
                    errors.append(line)
        if process.returncode != 0:
            raise BuildError("go list failed:\n" + "".join(errors[-20:]))
        progress.finish()
        listing.seek(0)
        rows = [line.rstrip("\n").split("\t") for line in listing if line.strip()]
    return {
        package: sum((Path(directory) / name).stat().st_size for name in names.split("/") if name)
        for package, directory, names in rows
    }


def _linker_flags() -> str:
    """Strips symbols and stamps versions: kubectl and Helm refuse to work without theirs."""
    go_mod = (TOOLS / "go.mod").read_text()
    kubernetes = module_version("k8s.io/kubernetes", go_mod)
    major, minor, _patch = kubernetes.removeprefix("v").split(".", 2)
    stamps = {
        "k8s.io/component-base/version.gitVersion": kubernetes,
        "k8s.io/component-base/version.gitMajor": major,
        "k8s.io/component-base/version.gitMinor": minor,
        "helm.sh/helm/v3/internal/version.version": module_version("helm.sh/helm/v3", go_mod),
    }
    return "-s -w " + " ".join(f"-X {symbol}={value}" for symbol, value in stamps.items())


def _default_name(package: str) -> str:
    """The file name that `go build` gives to a package's program: a version suffix is dropped."""
    parts = package.split("/")
    return parts[-2] if re.fullmatch(r"v\d+", parts[-1]) else parts[-1]


def _go(argv: list[str], *, stdout: object, stderr: int) -> subprocess.Popen[str]:
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false"}
    # Compiling takes every core for minutes: anything else on the machine goes first.
    return subprocess.Popen(  # type: ignore[call-overload,no-any-return]
        ["nice", "-n", "5", *argv],
        cwd=TOOLS,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        text=True,
    )


if __name__ == "__main__":
    print(ensure_built(), file=sys.stdout)
