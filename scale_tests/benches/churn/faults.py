"""Faults that are injected into a running PartisanCluster.

Locally processes are killed and packets dropped by the kernel. On a cluster elsewhere pods are
deleted without grace, which leaves them a second to shut down, and the network cannot be cut.
"""

import math
import random
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from scale_tests.cluster.kube import core
from scale_tests.cluster.local_nodes import processes
from scale_tests.cluster.partisan import read_addresses
from scale_tests.cluster.subject import Subject
from scale_tests.cluster.wait import repeating
from scale_tests.host import procfs
from scale_tests.host.commands import ExpectedError
from scale_tests.localkube import partition

POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"


class FaultError(ExpectedError):
    """A fault cannot be injected into this cluster; the message names the reason."""


class Faults:
    """Injects faults into one cluster; the victims follow from the seed and the order of calls."""

    def __init__(self, subject: Subject, *, seed: int) -> None:
        self._subject = subject
        self._addresses = partial(read_addresses, subject.cluster, subject.namespace, subject.name)
        self._named = f"PartisanCluster {subject.namespace}/{subject.name}"
        self._random = random.Random(seed)

    def draw(self, share: float) -> tuple[str, ...]:
        """Chooses victims: this share of the pods, at least one. Raises FaultError, ApiError."""
        if not 0 < share <= 1:
            raise FaultError(f"share is {share}: choose one above 0 and at most 1")
        pods = self._pods()
        return tuple(sorted(self._random.sample(pods, max(1, math.floor(share * len(pods))))))

    def kill(self, victims: tuple[str, ...]) -> None:
        """Kills pods at once as failed machines would, with their storage.

        On this machine the processes are frozen until the API server has deleted the pods, so that
        none is restarted in its pod or handles SIGTERM. Raises ApiError; PermissionError: not root.
        """
        subject = self._subject
        running = processes(subject.namespace) if subject.environment.local else {}
        doomed = [running[victim] for victim in victims if victim in running]
        procfs.send(signal.SIGSTOP, doomed)
        try:
            subject.cluster.delete(
                core(subject.namespace, "pods"),
                labelSelector=f"{POD_NAME_LABEL} in ({','.join(victims)})",
                gracePeriodSeconds="0",
            )
        finally:
            procfs.send(signal.SIGKILL, doomed)

    @contextmanager
    def churn(
        self, nodes_per_minute: float, killed: Callable[[str], None] = lambda _pod: None
    ) -> Iterator[None]:
        """Kills one pod after the other, evenly spaced, for as long as the context lasts.

        `killed` is called with each, on another thread. Raises the error of a kill on exit.
        """

        def strike() -> None:
            victim = self._random.choice(self._pods())
            self.kill((victim,))
            killed(victim)

        with repeating(strike, 60 / nodes_per_minute):
            yield

    @contextmanager
    def partition(self) -> Iterator[tuple[frozenset[str], frozenset[str]]]:
        """Cuts the network between two halves, for as long as the context lasts; yields them.

        Raises FaultError: the cluster is elsewhere, or has one pod; ExpectedError, ApiError.
        """
        if not self._subject.environment.local:
            raise FaultError(
                "a cluster of KUBECONFIG cannot be partitioned from here: whether NetworkPolicies"
                " are enforced there, and cut connections that stand, is up to its network. Unset"
                " KUBECONFIG to use the local cluster"
            )
        addresses = self._addresses()
        if len(addresses) < 2:
            raise FaultError(f"{self._named} has {len(addresses)} pods: a partition takes two")
        pods = sorted(addresses)
        one = frozenset(self._random.sample(pods, len(pods) // 2))
        other = frozenset(pods) - one
        with partition.cut([addresses[p] for p in one], [addresses[p] for p in other]):
            yield one, other

    def _pods(self) -> list[str]:
        """The names of all pods, in an order that a seed can be relied on."""
        pods = sorted(self._addresses())
        if not pods:
            raise FaultError(f"{self._named} has no pods")
        return pods
