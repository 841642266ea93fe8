"""The conditions of a cluster, each from the facts of one observation."""

from dataclasses import dataclass

from partisan_operator.decide.fleet import Hold
from partisan_operator.models.problem import Problem, Reason
from partisan_operator.models.status import Condition, ConditionType, TriState
from partisan_operator.observe.graph import OverlayGraph
from partisan_operator.observe.running import RunningOverlay
from partisan_operator.status.run import Verdict

ALL_JOINED = "AllNodesJoined"
"""Reason of `Ready` while it is True."""

SETTLED = "Settled"
"""Reason of `Progressing` when the cluster matches its spec."""

RECONFIGURING = "Reconfiguring"
"""Reason of `Progressing` while running nodes change their overlay or its parameters."""

WAITING_FOR_CERTIFICATE = "WaitingForCertificate"
"""Reason of `Progressing` while the Secret is missing that pods mount."""

ROTATING_AUTHORITY = "RotatingAuthority"
"""Reason of `Progressing` while the authority of the nodes' certificates is replaced."""

ROLLING_OUT = "RollingOut"
"""Reason of `Progressing` while pods are replaced, until the last one has rejoined."""

APPLYING = "Applying"
"""Reason of `Progressing` while the observation is older than the last changes of objects."""


_NAMED = 5
"""Most objects that a message names."""

_HALTING = (Reason.SCALE_DOWN_REFUSED, Reason.OVERRIDE_REFUSED, Reason.APPLY_FAILED)
"""Problems that stop all progress: `Progressing` is False and names them."""


@dataclass(frozen=True)
class Facts:
    """Input of the conditions."""

    wanted: int
    exists: int
    ready: int
    joined: int
    answered: int
    outdated: int
    """Pods that a rollout has yet to replace."""

    was_rolling: bool
    """Whether a rollout was under way at the last reconcile."""

    applying: bool
    """Whether objects have just been changed, or their controllers still have to follow."""

    overlay: RunningOverlay
    configured: int
    """Nodes that follow the part of the spec for running nodes."""

    graph: OverlayGraph
    verdict: Verdict | None
    """None without a workload."""

    run_observed_at: str
    """When a node last reported on the run; empty before any did."""

    discrepancy: str
    """Why the counter of a finished run is wrong; empty when it is right."""

    problem: Problem | None
    paused: bool
    certificate: str = ""
    """The reason why the pods' certificate is missing; empty when it exists."""

    changed: tuple[str, ...] = ()
    """Names of the objects that have just been changed."""

    development: bool = False
    """Whether modules of the nodes may be replaced."""

    rotating: str = ""
    """Progress of the replacement of the cluster's own authority; empty when there is none."""

    hold: Hold | None = None
    """Why the operator's default image is not followed yet."""

    @property
    def run_unknown(self) -> bool:
        """Whether the present state of the run is unknown."""
        return self.answered == 0 and not self.discrepancy

    @property
    def reconfiguring(self) -> bool:
        """Whether some nodes have yet to follow the spec, or to leave the previous overlay."""
        return self.configured < self.answered or self.overlay.previous is not None

    @property
    def all_ready(self) -> bool:
        """Whether exactly the wanted pods exist, and all are ready."""
        return self.exists == self.wanted == self.ready

    @property
    def all_joined(self) -> bool:
        """Whether every wanted node reports that it has joined the overlay."""
        return self.joined == self.wanted

    @property
    def connected(self) -> bool:
        """Whether the overlay is one component that holds every wanted node."""
        return self.all_joined and self.graph.components == 1


@dataclass(frozen=True)
class _Claim:
    status: TriState
    reason: str
    message: str


_DEVELOPMENT = _Claim(
    "True",
    "HotCodeLoading",
    "spec.development is true: modules of running nodes may be replaced, which is not for"
    " production",
)


def conditions(
    facts: Facts, earlier: dict[ConditionType, Condition], generation: int, now: str
) -> tuple[Condition, ...]:
    """Return all conditions; a time of transition changes only with the status."""
    claims = {
        ConditionType.READY: _ready(facts),
        ConditionType.PROGRESSING: _progressing(facts),
        ConditionType.OVERLAY_CONNECTED: _overlay_connected(facts),
        ConditionType.WORKLOAD_CONVERGED: _workload_converged(facts),
        ConditionType.DEGRADED: _degraded(facts),
        ConditionType.PAUSED: _paused(facts),
    }
    if facts.development:
        claims[ConditionType.DEVELOPMENT] = _DEVELOPMENT
    return _stated(claims, earlier, generation, now)


def conditions_after_failure(
    problem: Problem, earlier: dict[ConditionType, Condition], generation: int, now: str
) -> tuple[Condition, ...]:
    """Return the conditions of a cluster that could not be observed; the others stay."""
    claims = {
        ConditionType.READY: _Claim(
            "Unknown", problem.reason, "The operator could not observe the cluster: see Degraded"
        ),
        ConditionType.PROGRESSING: _Claim("False", problem.reason, problem.message),
        ConditionType.DEGRADED: _Claim("True", problem.reason, problem.message),
    }
    stated = {entry.type: entry for entry in _stated(claims, earlier, generation, now)}
    return tuple((earlier | stated).values())


def _stated(
    claims: dict[ConditionType, _Claim],
    earlier: dict[ConditionType, Condition],
    generation: int,
    now: str,
) -> tuple[Condition, ...]:
    return tuple(
        _condition(kind, claim, earlier.get(kind), generation, now)
        for kind, claim in claims.items()
    )


def _condition(
    kind: ConditionType, claim: _Claim, earlier: Condition | None, generation: int, now: str
) -> Condition:
    unchanged = earlier is not None and earlier.status == claim.status
    return Condition(
        type=kind,
        status=claim.status,
        reason=claim.reason,
        message=claim.message[:2048],
        last_transition_time=earlier.last_transition_time if earlier and unchanged else now,
        observed_generation=generation,
    )


def _ready(facts: Facts) -> _Claim:
    if facts.all_ready and facts.connected:
        return _Claim("True", ALL_JOINED, f"All {facts.wanted} nodes are in the overlay")
    counts = (
        f"Of {facts.wanted} nodes {facts.exists} exist, {facts.ready} are ready and"
        f" {facts.joined} have joined"
    )
    if facts.exists > facts.wanted:
        return _Claim("False", "NodesLeaving", counts)
    if facts.exists < facts.wanted:
        return _Claim("False", "NodesMissing", counts)
    if facts.ready < facts.wanted:
        return _Claim("False", "NodesNotReady", counts)
    if facts.all_joined:
        return _Claim("False", "Partitioned", _joined(facts))
    return _Claim("False", "NodesNotJoined", counts)


def _progressing(facts: Facts) -> _Claim:
    if facts.paused:
        return _Claim("False", "Paused", "spec.paused is true: nothing is changed")
    if facts.problem is not None and facts.problem.reason in _HALTING:
        return _Claim("False", facts.problem.reason, facts.problem.message)
    complete = facts.all_ready and facts.connected
    if facts.outdated or (facts.was_rolling and (facts.applying or not complete)):
        return _Claim("True", ROLLING_OUT, f"{facts.outdated} pods have an outdated template")
    if facts.certificate and facts.exists < facts.wanted:
        return _Claim("True", WAITING_FOR_CERTIFICATE, f"No Secret for pods: {facts.certificate}")
    if facts.exists != facts.wanted:
        return _Claim("True", "Scaling", f"{facts.exists} of {facts.wanted} pods exist")
    if facts.reconfiguring:
        return _Claim("True", RECONFIGURING, _reconfiguring(facts))
    if not complete:
        return _Claim("True", "Forming", _joined(facts))
    if facts.rotating:
        return _Claim("True", ROTATING_AUTHORITY, facts.rotating)
    if facts.applying:
        return _Claim("True", APPLYING, _applying(facts))
    if facts.hold is not None:
        return _Claim("False", facts.hold.reason, facts.hold.message)
    return _Claim("False", SETTLED, "The cluster matches its spec")


def _applying(facts: Facts) -> str:
    if not facts.changed:
        return "The StatefulSets have yet to follow the last changes"
    more = len(facts.changed) - _NAMED
    others = f" and {more} more" if more > 0 else ""
    names = ", ".join(facts.changed[:_NAMED])
    return f"These differed from the spec and have just been changed: {names}{others}"


def _joined(facts: Facts) -> str:
    if facts.all_joined:
        return f"All {facts.wanted} nodes have joined, in {facts.graph.components} components"
    return f"{facts.joined} of {facts.wanted} nodes have joined"


def _reconfiguring(facts: Facts) -> str:
    if facts.configured < facts.answered:
        return f"{facts.configured} of {facts.answered} nodes follow the spec"
    running = f"All {facts.answered} nodes run {facts.overlay.kind}"
    return f"{running}, and some still run the previous overlay next to it"


def _overlay_connected(facts: Facts) -> _Claim:
    if facts.answered == 0:
        return _Claim("Unknown", "NoAnswer", "No node has answered yet")
    graph = facts.graph
    if facts.connected:
        return _Claim("True", "OneComponent", f"All {facts.wanted} nodes are one component")
    if graph.components > 1:
        return _Claim(
            "False",
            "Partitioned",
            f"{graph.components} components, {graph.isolated} isolated nodes among"
            f" {graph.nodes} that answer",
        )
    return _Claim("False", "NodesNotJoined", _joined(facts))


def _workload_converged(facts: Facts) -> _Claim:
    if facts.verdict is None:
        return _Claim("Unknown", "NoWorkload", "spec.workload is not set")
    if facts.discrepancy:
        return _Claim("False", "CounterMismatch", facts.discrepancy)
    if facts.run_unknown:
        last = f": the run was last reported at {facts.run_observed_at}"
        since = last if facts.run_observed_at else " yet"
        return _Claim("Unknown", "NoAnswer", f"No node answers{since}")
    status: TriState = "True" if facts.verdict.converged else "False"
    return _Claim(status, facts.verdict.reason, facts.verdict.message)


def _degraded(facts: Facts) -> _Claim:
    if facts.problem is not None:
        return _Claim("True", facts.problem.reason, facts.problem.message)
    return _Claim("False", "AsExpected", "Nothing is known to be wrong")


def _paused(facts: Facts) -> _Claim:
    if facts.paused:
        return _Claim("True", "SpecPaused", "Set spec.paused to false to resume")
    return _Claim("False", "NotPaused", "The operator acts")
