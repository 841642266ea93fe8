"""The operator in a cluster: the chart installed, its logs, the chart removed."""

import shutil
from collections.abc import Sequence

from scale_tests.cluster import environment as environments
from scale_tests.cluster.environment import Environment, image_digest
from scale_tests.cluster.kube import PARTISAN, ApiError, Cluster, Json, core
from scale_tests.cluster.wait import wait_for
from scale_tests.host.commands import CommandError, ExpectedError, capture
from scale_tests.localkube.build import TOOLSET

CHART = "charts/partisan-operator"
RELEASE = "partisan-operator"
NAMESPACE = "partisan-system"
CRD = "apis/apiextensions.k8s.io/v1/customresourcedefinitions/partisanclusters.partisan.dev"
LEASE = "apis/coordination.k8s.io/v1/namespaces/kube-system/leases/partisan-operator"
"""The Lease that the operator holds while it acts."""

HELM_TIMEOUT = "15m"
"""How long helm waits for pods; a busy machine needs minutes for what takes seconds."""

SELECTOR = f"app.kubernetes.io/instance={RELEASE},app.kubernetes.io/component=operator"


def tool(name: str) -> str:
    """The path of `helm` or `kubectl`, pinned or the system's. Raises ExpectedError."""
    pinned = TOOLSET.bin_directory / name
    found = str(pinned) if pinned.exists() else shutil.which(name)
    if not found:
        raise ExpectedError(f"{name} is missing: `make cluster` builds it, or install it")
    return found


def helm() -> str:
    """The path of helm, which is built with the local cluster's programs if it is missing.

    Raises ExpectedError.
    """
    try:
        return tool("helm")
    except ExpectedError:
        TOOLSET.ensure_built()
        return tool("helm")


def image_values(key: str, image: str) -> list[str]:
    """The arguments of helm that set the chart's image under `key`."""
    repository, _, tag = image.rpartition(":")
    return ["--set", f"{key}.repository={repository}", "--set-string", f"{key}.tag={tag}"]


def ready_cluster(*, installed: bool = False) -> Environment:
    """The cluster with this repository's operator and images in it; as it is, if `installed`.

    Raises ExpectedError.
    """
    if installed:
        existing = environments.existing()
        if existing is None:
            raise ExpectedError("there is no cluster yet: leave --installed out")
        return existing
    environment = environments.bring_up()
    install(environment)
    return environment


def install(environment: Environment, *, values: Sequence[str] = (), chart: str = CHART) -> None:
    """Installs or upgrades the chart, and waits until the operator is ready.

    The live page is enabled, except in a previous chart, which has none. `values` are further
    arguments of helm, such as `["--set", "reconcile.interval=1s"]`. Raises CommandError.
    """
    page = ["--set", "console.enabled=true"] if chart == CHART else []
    _install(environment, RELEASE, NAMESPACE, [*page, *values], chart)


def install_beside(environment: Environment, name: str, *, values: Sequence[str] = ()) -> None:
    """Installs a second release `name` in a namespace of that name, as `install`."""
    _install(environment, name, name, ["--set", "crds.enabled=false", *values], CHART)


def rollback(environment: Environment) -> None:
    """Returns to the revision before the last upgrade, and waits. Raises CommandError."""
    waiting = ("--wait", "--timeout", HELM_TIMEOUT)
    _helm(environment, "rollback", RELEASE, "--namespace", NAMESPACE, *waiting)


def test(environment: Environment) -> None:
    """Runs the chart's own test (`helm test`). Raises CommandError."""
    _helm(environment, "test", RELEASE, "--namespace", NAMESPACE, "--timeout", HELM_TIMEOUT)


def uninstall(environment: Environment) -> list[str]:
    """Removes the release, its namespace, Lease and CRD, unless there are clusters left.

    Returns those, as `namespace/name`: they would go with the CRD. Raises CommandError, ApiError.
    """
    cluster = Cluster(environment.kubeconfig)
    items = cluster.list(f"{PARTISAN}/partisanclusters") if cluster.find(CRD) else []
    left = [f"{item['metadata']['namespace']}/{item['metadata']['name']}" for item in items]
    if not left:
        uninstall_release(environment)
        kubectl(environment, "delete", "crd", CRD.rpartition("/")[2], "--ignore-not-found")
        kubectl(environment, "delete", "namespace", NAMESPACE, "--ignore-not-found")
        cluster.delete(LEASE)
    return left


def uninstall_release(
    environment: Environment, release: str = RELEASE, namespace: str = NAMESPACE
) -> None:
    """Removes a release alone; the CRD and the clusters stay. Raises CommandError."""
    _helm(
        environment,
        *["uninstall", release, "--namespace", namespace],
        *["--ignore-not-found", "--wait", "--timeout", HELM_TIMEOUT],
    )


def kubectl(environment: Environment, *arguments: str, stdin: str | None = None) -> str:
    """Runs kubectl and returns its output. Raises CommandError."""
    return capture([tool("kubectl"), *arguments], env=environment.variables, stdin=stdin)


def operator_pods(cluster: Cluster) -> list[Json]:
    """The operator's pods, without those that are going. Raises ApiError."""
    items = cluster.list(core(NAMESPACE, "pods"), SELECTOR)
    return [item for item in items if "deletionTimestamp" not in item["metadata"]]


def leader(cluster: Cluster) -> str:
    """The name of the operator's pod that acts; empty while none does. Raises ApiError."""
    lease = cluster.find(LEASE)
    holder = "" if lease is None else lease["spec"].get("holderIdentity") or ""
    name = str(holder).partition("_")[0]
    return name if name in {p["metadata"]["name"] for p in operator_pods(cluster)} else ""


def readiness(cluster: Cluster, pod: str, *, namespace: str = NAMESPACE) -> tuple[bool, str]:
    """Whether an operator's pod is ready according to /readyz, and the text of the answer."""
    try:
        return True, cluster.text(core(namespace, "pods", f"http:{pod}:9090/proxy/readyz"))
    except ApiError as error:
        return False, error.message


def metrics(cluster: Cluster) -> str:
    """The `/metrics` of the operator's pod that acts. Raises ApiError, StalledError."""
    pod = wait_for("an operator that acts", lambda: leader(cluster), bool)
    return cluster.text(core(NAMESPACE, "pods", f"http:{pod}:9090/proxy/metrics"))


def logs(cluster: Cluster, *, lines: int = 2000) -> str:
    """The last lines of the operator's log. Raises ApiError."""
    return "".join(
        cluster.text(
            core(NAMESPACE, "pods", f"{pod['metadata']['name']}/log"), tailLines=str(lines)
        )
        for pod in operator_pods(cluster)
    )


def _install(
    environment: Environment, release: str, namespace: str, values: Sequence[str], chart: str
) -> None:
    arguments = [
        *["upgrade", "--install", release, chart],
        *["--namespace", namespace, "--create-namespace"],
        *["--wait", "--timeout", HELM_TIMEOUT],
        *image_values("image", environment.operator_image),
        *image_values("nodeImage", environment.node_image),
        # A rebuilt image has the same tag; only this makes the operator's pod start with it.
        *["--set-string", f"podAnnotations.partisan\\.dev/image-digest={image_digest('operator')}"],
        *values,
    ]
    try:
        _helm(environment, *arguments)
    except CommandError as error:
        if not environment.local or "another operation" not in error.output:
            raise
        # A run that was killed while Helm worked has left this release locked for ever.
        uninstall_release(environment, release, namespace)
        _helm(environment, *arguments)


def _helm(environment: Environment, *arguments: str) -> str:
    try:
        return capture([tool("helm"), *arguments], env=environment.variables)
    except CommandError as error:
        if "context deadline exceeded" not in error.output:
            raise
        # Helm does not report why a pod is not ready; the pod's status does.
        states = kubectl(environment, "get", "pods", "-n", NAMESPACE, "-o", "wide")
        raise CommandError(
            ["helm", *arguments], error.status, f"{error.output}\n{states}"
        ) from None
