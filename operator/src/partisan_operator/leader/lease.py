"""A Lease object as the rules of `election` see it."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from partisan_operator.api.kube import Kube
from partisan_operator.leader.election import Claim, Record
from partisan_operator.models.clock import utc_now

NAME = "partisan-operator"
"""The same for every release, so that two which serve the same namespaces see each other."""


class Lease:
    """The Lease of one namespace."""

    def __init__(self, kube: Kube, namespace: str) -> None:
        """Make a handle; sends no request."""
        self._kube = kube
        self.namespace = namespace
        self._acquired: str | None = None

    def __str__(self) -> str:
        return f"{self.namespace}/{NAME}"

    async def read(self) -> Record | None:
        """Return the contents of the Lease; None when there is none. Raises `KubeError`."""
        manifest = await self._kube.get("Lease", self.namespace, NAME)
        return None if manifest is None else _record(manifest)

    async def write(self, claim: Claim, holder: str, duration: float) -> Record:
        """Write a claim for a holder; an empty one releases the Lease.

        Raises `KubeError`, with code 404 or 409 when the Lease has changed since the claim.
        """
        now = _micro_time(utc_now())
        if claim.acquires or self._acquired is None:
            self._acquired = now
        metadata = {"name": NAME, "namespace": self.namespace}
        if claim.version is not None:
            metadata["resourceVersion"] = claim.version
        manifest = await self._kube.write_lease(
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": metadata,
                "spec": {
                    "holderIdentity": holder,
                    "leaseDurationSeconds": round(duration),
                    "leaseTransitions": claim.transitions,
                    "acquireTime": self._acquired,
                    "renewTime": now,
                },
            }
        )
        return _record(manifest)


def _record(manifest: Mapping[str, Any]) -> Record:
    spec = manifest.get("spec") or {}
    return Record(
        version=manifest["metadata"]["resourceVersion"],
        holder=spec.get("holderIdentity") or "",
        duration=float(spec.get("leaseDurationSeconds") or 0),
        transitions=spec.get("leaseTransitions") or 0,
    )


def _micro_time(time: datetime) -> str:
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")
