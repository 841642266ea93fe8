"""The nodes' channels and workload."""

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field

from partisan_operator.models.base import Resource, Rule, keyed_by, rules, unchanged
from partisan_operator.models.quantities import ByteSize, CountingInterval, IntOrText, approximately

ChannelName = Annotated[
    str,
    Field(
        max_length=32,
        json_schema_extra=rules(
            Rule(
                "self.matches('^[a-z][a-z0-9_]*$')",
                "must start with a lower-case letter and hold only lower-case letters, digits"
                " and underscores",
            ),
            Rule(
                "self != 'overlay'",
                "overlay is the name of the channel that every cluster has for membership:"
                " choose another name",
            ),
        ),
    ),
]


DEFAULT_QUEUE_LIMIT = "8Mi"
"""A node's queue limit for a channel without one."""


class Channel(Resource):
    """A named channel: messages on it never wait behind those of another channel."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "!(self.monotonic && self.acknowledged)",
                "acknowledged must be false on a monotonic channel, where a lost message is not"
                " worth resending: remove one of the two",
                ".acknowledged",
            )
        )
    )

    name: ChannelName
    """The name that the application uses. `overlay` is reserved."""

    parallelism: Annotated[int, Field(ge=1, le=128)] = 1
    """Connections to each neighbour. Messages with the same partition key share one and keep
    their order."""

    monotonic: bool = False
    """On a monotonic channel a newer message replaces an older one that is still queued."""

    acknowledged: bool = False
    """On an acknowledged channel a message is resent until its receiver has it, and delivered once,
    unless the application opts out for a message. A change replaces the pods. The replicated
    counter repairs losses itself and does not need it."""

    queue_limit: ByteSize = DEFAULT_QUEUE_LIMIT
    """Bytes that may be queued on one connection of the channel to one neighbour before its senders
    block; the connections share the default, down to 1Mi each. On an acknowledged channel half of
    it may be in flight. A change replaces the pods."""


def queued(channels: str) -> str:
    """Return the CEL expression for the bytes that a node may queue for one neighbour."""
    return f"{channels}.map(c, double(c.parallelism) * {approximately('c.queueLimit')}).sum()"


class AdCounter(Resource):
    """The ad counter: every node counts impressions of ads until each ad reached its threshold."""

    ads: Annotated[int, Field(ge=1, le=1024)] = 1
    """Number of ads, each with a counter of its own."""

    impressions: Annotated[int, Field(ge=1, le=1_000_000_000_000)]
    """Impressions after which an ad is disabled, counted over the whole cluster."""

    increment_interval: CountingInterval = "10s"
    """Time between two impressions on one node."""

    propagation_interval: CountingInterval = "5s"
    """Time between two exchanges of counters with the neighbours."""


class Synchronization(StrEnum):
    """How the replicas of a workload are synchronised."""

    STATE = "State"
    DELTA = "Delta"
    TREE = "Tree"
    AGGREGATE = "Aggregate"


AD_COUNTER = "adcounter"
"""The module of the ad counter."""

ERLANG_NAME = Rule(
    "self.matches('^[a-z][A-Za-z0-9_]*$')",
    "must be the name of an Erlang atom: start with a lower-case letter and hold only letters,"
    " digits and underscores",
)

ErlangName = Annotated[str, Field(max_length=64, json_schema_extra=rules(ERLANG_NAME))]


class Argument(Resource):
    """One argument of a custom workload."""

    name: ErlangName
    """Name of the module's parameter."""

    value: IntOrText
    """An integer or text. The module defines which, and its limits."""


class Custom(Resource):
    """A custom workload: an Erlang module in the image of the nodes."""

    module: Annotated[
        str,
        Field(
            max_length=64,
            json_schema_extra=rules(
                ERLANG_NAME,
                Rule(
                    f"self != '{AD_COUNTER}'",
                    "adcounter is the module of adCounter: set adCounter instead of custom",
                ),
            ),
        ),
    ]
    """The module, of the behaviour `workload`. If the image does not contain it, the pods end and
    the condition Degraded reports it."""

    arguments: Annotated[
        tuple[Argument, ...],
        Field(
            max_length=32,
            json_schema_extra=keyed_by("name"),
        ),
    ] = ()
    """Arguments of the module. An absent one has the module's default; an invalid one ends the
    pods, as a missing module does."""


class Workload(Resource):
    """The nodes' task once the overlay is one connected component. One member is set."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "has(self.adCounter) != has(self.custom)",
                "a workload needs one member: set adCounter or custom, not both, or remove workload"
                " for idle nodes",
            ),
            Rule(
                "!has(self.custom) || !has(self.synchronization)",
                "synchronization applies to adCounter alone: remove synchronization",
                ".synchronization",
                # The first CRD set a default for it, also with custom.
                f"has(old.custom) && {unchanged('synchronization')}",
            ),
        )
    )

    ad_counter: AdCounter | None = None
    """The ad counter of the published experiment."""

    custom: Custom | None = None
    """A custom workload."""

    synchronization: Synchronization | None = None
    """Contents of the ad counter's messages to neighbours; absent means Delta. State: all counters,
    as in the published experiment. Delta: only changes that the neighbour lacks; as fast as State,
    with a small fraction of the bytes. Tree: changes along a spanning tree of the overlay, once to
    every node; fewer bytes, and about twice the time. All three converge to the same counters on
    every node, whatever is lost. Aggregate: sums along the tree, so that a node knows its own count
    and the total but no other node's count; by far the fewest bytes. A change replaces the pods and
    starts another run."""

    @property
    def mode(self) -> Synchronization:
        """How the replicas of the ad counter are synchronised."""
        return self.synchronization or Synchronization.DELTA

    @property
    def module(self) -> str:
        """The module that the nodes run."""
        return AD_COUNTER if self.custom is None else self.custom.module
