"""What the nodes run: the channels they talk over and the workload of the experiment."""

from __future__ import annotations

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
"""What a node takes for a channel that does not say."""


class Channel(Resource):
    """A named channel: messages on it never wait behind those of another channel."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "!(self.monotonic && self.acknowledged)",
                "acknowledged must be false on a monotonic channel, where a message that was lost"
                " is not worth sending again: remove one of the two",
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
    """On an acknowledged channel a message is sent again until its receiver has it, and delivered
    once, unless the application says otherwise of a single message. A change replaces the pods.
    The replicated counter has repairs of its own and does without."""

    queue_limit: ByteSize = DEFAULT_QUEUE_LIMIT
    """Bytes that may wait in one connection of the channel to one neighbour before its senders
    are held back; the default is shared by the connections, down to 1Mi each. On an acknowledged
    channel half of it may be under way unacknowledged. A change replaces the pods."""


def queued(channels: str) -> str:
    """Return the CEL expression for what a node may queue for one neighbour, in bytes."""
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
    """How the replicas of a workload become equal."""

    STATE = "State"
    DELTA = "Delta"
    TREE = "Tree"
    AGGREGATE = "Aggregate"


AD_COUNTER = "adcounter"
"""The module of the ad counter."""

_ERLANG_NAME = Rule(
    "self.matches('^[a-z][A-Za-z0-9_]*$')",
    "must be the name of an Erlang atom: start with a lower-case letter and hold only letters,"
    " digits and underscores",
)

ErlangName = Annotated[str, Field(max_length=64, json_schema_extra=rules(_ERLANG_NAME))]


class Argument(Resource):
    """One argument of a workload of one's own."""

    name: ErlangName
    """The parameter that the module has it for."""

    value: IntOrText
    """An integer, or text. Which of them, and within which limits, the module says."""


class Custom(Resource):
    """A workload of one's own: an Erlang module in the image of the nodes."""

    module: Annotated[
        str,
        Field(
            max_length=64,
            json_schema_extra=rules(
                _ERLANG_NAME,
                Rule(
                    f"self != '{AD_COUNTER}'",
                    "adcounter is what adCounter runs: set adCounter instead of custom",
                ),
            ),
        ),
    ]
    """The module, of the behaviour `workload`. The image that `spec.image` names has it, or the
    pods end, and the condition Degraded says so."""

    arguments: Annotated[
        tuple[Argument, ...],
        Field(
            max_length=32,
            json_schema_extra=keyed_by("name"),
        ),
    ] = ()
    """What the module is given. One that is missing has the module's default, one that does not
    fit ends the pods as a missing module does."""


class Workload(Resource):
    """What the nodes do once the overlay is one connected component. One member is set."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "has(self.adCounter) != has(self.custom)",
                "a workload needs one member: set adCounter or custom, not both, or remove workload"
                " for idle nodes",
            ),
            Rule(
                "!has(self.custom) || !has(self.synchronization)",
                "synchronization is of adCounter alone, custom does without: remove"
                " synchronization",
                ".synchronization",
                # The first CRD had a default for it, with custom too.
                f"has(old.custom) && {unchanged('synchronization')}",
            ),
        )
    )

    ad_counter: AdCounter | None = None
    """The ad counter of the published experiment."""

    custom: Custom | None = None
    """A workload of one's own."""

    synchronization: Synchronization | None = None
    """Of the ad counter: what neighbours are sent each interval; absent means Delta. State: all
    counters, as in the published experiment. Delta: what has changed and they do not know, which
    reaches everyone as soon and takes a small fraction of the bytes. Tree: the same over a spanning
    tree of the overlay, once to every node: fewer bytes, and about twice the time. These three end
    with the same counters on every node, whatever is lost. Aggregate carries less information: over
    the tree go nothing but sums, so that every node knows its own count and the total, and not what
    any other node has counted; the fewest bytes by far. A change replaces the pods and starts
    another run."""

    @property
    def mode(self) -> Synchronization:
        """How the replicas of the ad counter become equal."""
        return self.synchronization or Synchronization.DELTA

    @property
    def module(self) -> str:
        """The module that the nodes run."""
        return AD_COUNTER if self.custom is None else self.custom.module
