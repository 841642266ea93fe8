"""Name resolution of the pods, and the timing of the nodes' probes."""

from typing import Annotated

from pydantic import Field

from partisan_operator.models.base import Resource, keyed_by
from partisan_operator.models.names import SUBDOMAIN, pattern

GRACE_SECONDS = 30
"""Time to end, where the spec has none."""

LEAST_GRACE_SECONDS = 15
"""A node hands over for up to 10 seconds, and leaves the overlay for up to 5."""


class DnsOption(Resource):
    """An option of the resolver."""

    name: Annotated[str, Field(min_length=1, max_length=63)]
    """The option, such as ndots."""

    value: Annotated[str, Field(max_length=63)] | None = None
    """Its value."""


class DnsConfig(Resource):
    """Name resolution, in addition to that of the Kubernetes cluster."""

    nameservers: (
        Annotated[
            tuple[Annotated[str, pattern("[0-9a-fA-F.:]+", most=45)], ...], Field(max_length=3)
        ]
        | None
    ) = None
    """Addresses of further DNS servers."""

    searches: (
        Annotated[tuple[Annotated[str, pattern(rf"{SUBDOMAIN}[.]?")], ...], Field(max_length=26)]
        | None
    ) = None
    """Further domains in which short names are looked up."""

    options: (
        Annotated[tuple[DnsOption, ...], Field(max_length=16, json_schema_extra=keyed_by("name"))]
        | None
    ) = None
    """Options of the resolver; names are unique."""


class StartupTiming(Resource):
    """The timing of the startup probe, which waits until the node has joined the overlay."""

    failure_threshold: Annotated[int, Field(ge=10, le=100_000)] | None = None
    """Failures, each after up to 15 seconds, after which the node is restarted; absent means
    1800."""


class ProbeTiming(Resource):
    """The timing of a probe."""

    period_seconds: Annotated[int, Field(ge=1, le=300)] | None = None
    """Seconds between checks; absent means 10 for readiness, 20 for liveness."""

    timeout_seconds: Annotated[int, Field(ge=1, le=300)] | None = None
    """Seconds after which a check has failed; absent means 5 for readiness, 10 for liveness."""

    failure_threshold: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Failures in a row after which the probe has failed; absent means 2 for readiness, 6 for
    liveness."""


class NodeProbes(Resource):
    """The timing of the nodes' probes."""

    startup: StartupTiming = StartupTiming()
    """Whether the node has joined the overlay for the first time."""

    readiness: ProbeTiming = ProbeTiming()
    """Whether the node is in the overlay."""

    liveness: ProbeTiming = ProbeTiming()
    """Whether the node answers. It is restarted otherwise."""
