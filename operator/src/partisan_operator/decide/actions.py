"""The actions that a plan consists of. Values only: `act.executor` carries them out."""

from dataclasses import dataclass, field

from partisan_operator.children import Child
from partisan_operator.children.orphan import Orphan
from partisan_operator.children.shared_secrets import SharedSecret
from partisan_operator.decide.certificates import CertificatePlan
from partisan_operator.decide.rotation import MakeAuthority, Publish
from partisan_operator.models.problem import Problem
from partisan_operator.observe.observation import Endpoint, PodRevision


@dataclass(frozen=True)
class Apply:
    """Apply a child."""

    child: Child


@dataclass(frozen=True)
class Adopt:
    """Make the cluster the controller of an orphan, and change nothing else of it."""

    orphan: Orphan


@dataclass(frozen=True)
class MakeSecret:
    """Generate the token or the bearer and create its Secret. Never overwrites either."""

    secret: SharedSecret


@dataclass(frozen=True)
class Delete:
    """Delete a child that is no longer wanted, if it is still the one that was observed."""

    kind: str
    name: str
    uid: str


@dataclass(frozen=True)
class DeletePod:
    """Delete a pod, for its StatefulSet to create it from the newest template."""

    pod: PodRevision


@dataclass(frozen=True)
class StartRun:
    """Start the run on one of these nodes: the first that accepts."""

    run: str
    candidates: tuple[Endpoint, ...]


@dataclass(frozen=True)
class Configure:
    """Send a configuration to running nodes."""

    text: str
    """The same as in the ConfigMap, which is applied first, so that a restarted node reads it
    too."""

    nodes: tuple[Endpoint, ...]


Action = (
    Apply | Adopt | MakeSecret | MakeAuthority | Publish | Delete | DeletePod | Configure | StartRun
)


@dataclass(frozen=True)
class Plan:
    """Actions in waves; the actions of a wave are independent."""

    waves: tuple[tuple[Action, ...], ...]
    outdated: int
    """Pods that a rollout has yet to replace."""

    problem: Problem | None
    """The obstacle to following the whole spec."""

    kept: int
    """Nodes to keep for now: more than the spec asks for while a scale-down is rejected or the
    cluster is paused."""

    scaling: tuple[int, int] | None
    """Requested pods before and after, when their number changes."""

    tls: CertificatePlan = field(default_factory=CertificatePlan)
    """The plan for the nodes' certificate. The waves contain its actions."""

    @property
    def actions(self) -> tuple[Action, ...]:
        """All actions, in order."""
        return tuple(action for wave in self.waves for action in wave)

    @property
    def adopted(self) -> tuple[str, ...]:
        """Names of the orphans that the plan adopts."""
        return tuple(_changed(action) for action in self.actions if isinstance(action, Adopt))

    @property
    def changes_pods(self) -> bool:
        """Whether the plan changes the template of pods, or their number."""
        return bool(self.stateful_sets)

    @property
    def stateful_sets(self) -> tuple[Child, ...]:
        """The StatefulSets that the plan applies, in order."""
        applied = (action.child for action in self.actions if isinstance(action, Apply))
        return tuple(child for child in applied if child.kind == "StatefulSet")

    @property
    def changes(self) -> tuple[str, ...]:
        """Names of the objects that the plan changes."""
        return tuple(name for action in self.actions if (name := _changed(action)))


def _changed(action: Action) -> str:
    """Return the name of the object that an action changes; empty if it changes none."""
    match action:
        case Apply(child):
            return f"{child.kind} {child.name}"
        case Delete(kind, name) | Adopt(Orphan(kind, name)):
            return f"{kind} {name}"
        case DeletePod(pod):
            return f"Pod {pod.name}"
        case MakeSecret(secret):
            return f"the {secret.key}'s Secret"
        case MakeAuthority() | Publish():
            return "the certificate's Secret"
    return ""
