"""Carries out a plan."""

import asyncio
import logging
import random
import secrets
from collections.abc import Callable
from datetime import datetime

from partisan_operator.act.certificate_writer import CertificateWriter
from partisan_operator.act.refusals import apply_failure, orders_refused, override_refused
from partisan_operator.api.errors import KubeError
from partisan_operator.api.kube import Kube
from partisan_operator.children.shared_secrets import SECRET_BYTES, SharedSecret
from partisan_operator.decide.actions import (
    Action,
    Adopt,
    Apply,
    Configure,
    Delete,
    DeletePod,
    MakeSecret,
    Plan,
    StartRun,
)
from partisan_operator.decide.rotation import MakeAuthority, Publish, Step
from partisan_operator.models import PartisanCluster
from partisan_operator.models.clock import utc_now
from partisan_operator.models.problem import Problem
from partisan_operator.observe.observer import Observer
from partisan_operator.observe.scraper import RefusedError, ScrapeError, Scraper

logger = logging.getLogger(__name__)

START_ATTEMPTS = 3
"""Nodes that are asked to start a run per reconcile."""


class Executor:
    """Carries out actions against the API server and the nodes."""

    def __init__(
        self,
        kube: Kube,
        scraper: Scraper,
        observer: Observer,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """Make an executor; `clock` dates the certificates that it issues."""
        self._kube = kube
        self._certificates = CertificateWriter(kube, clock)
        self._scraper = scraper
        self._observer = observer

    async def execute(self, cluster: PartisanCluster, plan: Plan) -> Problem | None:
        """Carry out the waves of a plan until one fails; return the problem of a refusal."""
        if (problem := await self._try_override(cluster, plan)) is not None:
            return problem
        for wave in plan.waves:
            outcomes = await asyncio.gather(
                *(self._attempt(cluster, action) for action in wave),
                # The next reconcile must not begin while this one still acts, even after a failure.
                return_exceptions=True,
            )
            for outcome in outcomes:
                if isinstance(outcome, BaseException):
                    raise outcome
            refusals = [entry for entry in outcomes if isinstance(entry, Problem)]
            if refusals:
                # Only a permanent refusal needs a person.
                return min(refusals, key=lambda problem: problem.transient)
        return None

    async def _try_override(self, cluster: PartisanCluster, plan: Plan) -> Problem | None:
        """Have the API server check pods with an override, before anything is changed.

        Those of all shards are the same.
        """
        if cluster.spec.pods.override is None or not (shards := plan.stateful_sets):
            return None
        try:
            await self._kube.try_apply(shards[0].manifest)
        except KubeError as error:
            return override_refused(str(error), transient=error.transient)
        return None

    async def _attempt(self, cluster: PartisanCluster, action: Action) -> Problem | None:
        try:
            return await self._perform(cluster, action)
        except KubeError as error:
            request = error.request or "change something"
            return apply_failure(request, str(error), transient=error.transient)

    async def _perform(self, cluster: PartisanCluster, action: Action) -> Problem | None:
        namespace = cluster.namespace
        match action:
            case Apply(child):
                logger.info("apply %s %s", child.kind, child.name)
                await self._kube.apply(child.manifest)
            case Adopt(orphan):
                logger.info("adopt %s %s of an earlier cluster", orphan.kind, orphan.name)
                owners = [*orphan.owners, cluster.owner_reference()]
                patch = {"metadata": {"uid": orphan.uid, "ownerReferences": owners}}
                await self._kube.merge(orphan.kind, namespace, orphan.name, patch)
            case MakeAuthority() | Publish():
                await self._rotate(cluster, action)
            case MakeSecret(secret):
                await self._make_secret(cluster, secret)
            case Delete(kind, name, uid):
                logger.info("delete %s %s", kind, name)
                await self._kube.delete(kind, namespace, name, uid)
            case DeletePod(pod):
                logger.info("replace pod %s: its template is outdated", pod.name)
                await self._kube.delete("Pod", namespace, pod.name, pod.uid)
            case Configure():
                return await self._configure(cluster, action)
            case StartRun():
                await self._start(cluster, action)
        return None

    async def _make_secret(self, cluster: PartisanCluster, secret: SharedSecret) -> None:
        child = secret.build(cluster, secrets.token_hex(SECRET_BYTES))
        try:
            await self._kube.create(child.manifest)
        except KubeError as error:
            if error.code != 409:  # 409: the next reconcile checks its owner
                raise
        else:
            logger.info("created %s %s", child.kind, child.name)

    async def _rotate(self, cluster: PartisanCluster, step: Step) -> None:
        """Carry out a step of the cluster's own authority."""
        tls = cluster.spec.security.tls
        if tls is not None and tls.cluster_ca is not None:
            await self._certificates.perform(cluster, tls.cluster_ca, step)

    async def _configure(self, cluster: PartisanCluster, action: Configure) -> Problem | None:
        """Send the configuration to every node. Retried on the next reconcile."""
        credentials = await self._observer.credentials(cluster, action.nodes)
        shown = credentials.reach(action.nodes)
        if len(shown) < len(action.nodes):
            missing = len(action.nodes) - len(shown)
            logger.warning("%d nodes cannot be configured: their Secret is missing", missing)
        logger.info("send %d nodes the configuration", len(shown))
        async with self._kube.changing():
            outcomes = await asyncio.gather(
                *(self._scraper.configure(node, shown[node], action.text) for node in shown),
                return_exceptions=True,
            )
        refusals = []
        for node, outcome in zip(shown, outcomes, strict=True):
            if isinstance(outcome, RefusedError):
                refusals.append((node, outcome))
            elif isinstance(outcome, ScrapeError):
                logger.warning("not configured: %s", outcome)
            elif isinstance(outcome, BaseException):
                raise outcome
        if not refusals:
            return None
        node, first = refusals[0]
        return orders_refused(
            [str(error) for _, error in refusals],
            unauthorized=first.unauthorized,
            bearer=node.bearer,
        )

    async def _start(self, cluster: PartisanCluster, action: StartRun) -> None:
        attempts = min(START_ATTEMPTS, len(action.candidates))
        sample = random.sample(action.candidates, attempts)
        shown = (await self._observer.credentials(cluster, sample)).reach(sample)
        if not shown:
            logger.warning("run %s cannot start: the Secret with the bearer is missing", action.run)
        for endpoint in shown:
            try:
                async with self._kube.changing():
                    await self._scraper.start_run(endpoint, shown[endpoint], action.run)
            except ScrapeError as error:
                logger.warning("run %s was not started: %s", action.run, error)
            else:
                logger.info("run %s started through %s", action.run, endpoint.pod)
                return
