"""A PartisanCluster under test: the actions of a test, and its waits."""

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, Popen
from tempfile import NamedTemporaryFile
from typing import Any, cast

from scale_tests.cluster import kube, operator
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import ApiError, Cluster, Json, core, partisan_cluster
from scale_tests.cluster.nodes import NodeStatus, read_nodes, read_page
from scale_tests.cluster.partisan import (
    CLUSTER_LABEL,
    ClusterStatus,
    children,
    read_cluster,
    read_pods,
)
from scale_tests.cluster.wait import STALL_SECONDS, wait_for

LASTING = 1800
"""Increments of a node, one a second, in a run that is longer than any test; `end_run` ends it."""

_ANSWER_SECONDS = 30.0

_CONSOLE = "/opt/partisan/bin/partisan_node"
_COUNT_ON = """\
spawn(fun CountOn() ->
    case adcounter:status() of
        #{ads_enabled := 0} -> done;
        _ -> [adcounter ! {timeout, make_ref(), increment} || _ <- lists:seq(1, 20)], CountOn()
    end
end).
"""
"""Makes a node count as often as it can until the run's threshold, each increment as its own."""


def manifest(name: str, replicas: int, **spec: Any) -> Json:
    """A small cluster whose counter runs for some seconds; `spec` replaces parts of its spec."""
    counter = {
        "impressions": replicas * 20,
        "incrementInterval": "500ms",
        "propagationInterval": "250ms",
    }
    small = {"overlay": {"kind": "HyParView"}, "workload": {"adCounter": counter}}
    return kube.manifest(name, replicas=replicas, **{**small, **spec})


def counter(nodes: int, increments: int) -> Json:
    """An ad counter that each of the nodes increments so often, once a second."""
    return {
        "impressions": nodes * increments,
        "incrementInterval": "1s",
        "propagationInterval": "500ms",
    }


@dataclass(frozen=True)
class Subject:
    """One PartisanCluster in a namespace."""

    environment: Environment
    cluster: Cluster
    namespace: str
    name: str

    @property
    def path(self) -> str:
        """Its path at the API server."""
        return partisan_cluster(self.namespace, self.name)

    def apply(self, body: Json) -> "Subject":
        """Creates it, as the version of the API that the manifest has. Raises ApiError."""
        path = f"apis/{body['apiVersion']}/namespaces/{self.namespace}/partisanclusters"
        self.cluster.create(path, body)
        return self

    def patch(self, **spec: Any) -> None:
        """Merges changes into its spec, as a user's edit does. Raises ApiError."""
        self.cluster.patch(self.path, {"spec": spec})

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Runs kubectl in its namespace. Raises CommandError."""
        return operator.kubectl(self.environment, "-n", self.namespace, *arguments, stdin=stdin)

    def status(self) -> ClusterStatus:
        """The status that the operator reports. Raises ApiError."""
        return read_cluster(self.cluster, self.namespace, self.name)

    def json(self) -> Json:
        """The whole object. Raises ApiError."""
        return self.cluster.get(self.path)

    @contextmanager
    def watched(self) -> Iterator[Callable[[], list[Json]]]:
        """Watches the object while the block runs; yields what returns its states so far, in order.

        No state is missed between two calls. A state may arrive later than a read returns it.
        """
        kubectl = [operator.tool("kubectl"), "-n", self.namespace]
        with (
            NamedTemporaryFile() as output,
            Popen(
                # One line for each state; the last one may still be being written.
                [*kubectl, "get", "pcl", self.name, "--watch", '--output=jsonpath={@}{"\\n"}'],
                env={**os.environ, **self.environment.variables},
                stdin=DEVNULL,
                stdout=output,
            ) as watching,
        ):
            try:
                lines = Path(output.name)
                yield lambda: [json.loads(line) for line in lines.read_text().split("\n")[:-1]]
            finally:
                watching.terminate()

    def nodes(self) -> list[NodeStatus]:
        """The reports of the nodes that answer. Raises ApiError."""
        running = read_pods(self.cluster, self.namespace, self.name).names_running
        return read_nodes(self.cluster, self.namespace, running, timeout=_ANSWER_SECONDS)

    def pods(self) -> dict[str, Json]:
        """Its pods by name. Raises ApiError."""
        items = self.cluster.list(core(self.namespace, "pods"), f"{CLUSTER_LABEL}={self.name}")
        return {item["metadata"]["name"]: item for item in items}

    def uids(self) -> dict[str, str]:
        """The identity of each of its pods: another one means that the pod was replaced."""
        return {name: pod["metadata"]["uid"] for name, pod in self.pods().items()}

    def restarts(self) -> dict[str, int]:
        """The number of restarts in place of each pod's container."""
        return {
            name: sum(c["restartCount"] for c in pod["status"].get("containerStatuses") or ())
            for name, pod in self.pods().items()
        }

    def incarnations(self) -> dict[str, tuple[str, int]]:
        """Each pod's identity, and how often its container was restarted. Raises ApiError."""
        restarts = self.restarts()
        return {name: (uid, restarts[name]) for name, uid in self.uids().items()}

    def node_json(self, pod: str) -> Json:
        """A node's `/status` as it came. Raises ApiError."""
        return cast(Json, json.loads(read_page(self.cluster, self.namespace, pod, "status")))

    def metrics(self, pod: str) -> str:
        """A node's `/metrics`. Raises ApiError."""
        return read_page(self.cluster, self.namespace, pod, "metrics")

    def wait(
        self,
        what: str,
        done: Callable[[ClusterStatus], bool],
        *,
        stall_seconds: float = STALL_SECONDS,
    ) -> ClusterStatus:
        """Waits until the status is as wanted. Raises StalledError, ApiError.

        An API server that does not answer is no progress, and no error.
        """
        status = wait_for(
            f"{self.name}: {what}",
            self._status_if_answered,
            lambda found: found is not None and done(found),
            progress=lambda found: found and found.progress,
            stall_seconds=stall_seconds,
        )
        assert status is not None
        return status

    def _status_if_answered(self) -> ClusterStatus | None:
        try:
            return self.status()
        except ApiError as error:
            if error.status not in (0, 429) and error.status < 500:
                raise
            return None

    def wait_healthy(self, joined: int) -> ClusterStatus:
        """Waits until so many nodes are all that are wanted, steady, and nothing is Degraded."""

        def is_healthy(status: ClusterStatus) -> bool:
            return status.steady and status.joined == joined and status.degraded is None

        return self.wait(f"{joined} healthy nodes", is_healthy)

    def wait_steady(self) -> ClusterStatus:
        """Waits until all nodes are ready and joined, in one overlay."""
        return self.wait("all nodes ready and joined", lambda status: status.steady)

    def wait_reconfigured(self) -> ClusterStatus:
        """Waits until they also run the overlay of the spec and no other."""
        return self.wait("nodes reconfigured", lambda status: status.reconfigured)

    def wait_finished(self) -> ClusterStatus:
        """Waits until the run has also ended with the same counter everywhere."""
        return self.wait("run finished", lambda status: status.finished)

    def wait_counted(self, impressions: int) -> None:
        """Waits until a run is under way: some node counts so many impressions."""
        self.wait(f"{impressions} impressions", lambda status: status.workload.value >= impressions)

    def end_run(self) -> ClusterStatus:
        """Has one node count all that the run still lacks, and waits for the run's end.

        So a run lasts as long as a test takes. Raises CommandError, StalledError.
        """
        command = ("exec", "--stdin", min(self.pods()), "--", _CONSOLE, "remote_console")
        self.kubectl(*command, stdin=_COUNT_ON)
        return self.wait_finished()

    def wait_degraded(self, reason: str, *texts: str) -> str:
        """Waits until it is Degraded for this reason, with these texts; returns the message."""

        def is_reported(status: ClusterStatus) -> bool:
            found = status.degraded
            return (
                found is not None
                and found.reason == reason
                and all(text in found.message for text in texts)
            )

        degraded = self.wait(f"Degraded for {reason} with {texts}", is_reported).degraded
        assert degraded is not None
        return degraded.message

    def children(self) -> list[str]:
        """All objects that belong to it, as `kind/name`. Raises ApiError."""
        return children(self.cluster, self.namespace, self.name)

    def events(self) -> set[str]:
        """The reasons of the events about it. Raises ApiError."""
        items = self.cluster.list(core(self.namespace, "events"))
        return {item["reason"] for item in items if item["involvedObject"]["name"] == self.name}

    def wait_events(self, *reasons: str) -> None:
        """Waits until there are events of these reasons about it: they follow the status."""
        wait_for(f"{self.name}: events {reasons}", self.events, lambda now: now >= set(reasons))

    def delete(self) -> None:
        """Deletes it and waits until nothing of it is left. Raises StalledError, ApiError."""
        self.cluster.delete(self.path)
        wait_for(f"{self.name}: deletion", self.children, lambda left: not left)


def kill_pod(subject: Subject, pod: str) -> None:
    """Kills a pod at once, as a failed node would: its state is lost, without a notice."""
    subject.cluster.delete(core(subject.namespace, "pods", pod), gracePeriodSeconds="0")
