"""The part of an experiment's matrix that one run goes through."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from scale_tests.benches.experiments.experiment import Experiment, ExperimentError, Point

_MEMBERS: dict[str, Callable[[Point], Sequence[Any]]] = {
    "sizes": lambda point: [point.nodes],
    "overlays": lambda point: [point.overlay.kind, point.overlay.name],
    "synchronizations": lambda point: [point.synchronization],
}
"""Of a point, by the option that restricts it to some of them."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The points that have one of the members that are named; where none is, all of them.

    The others remain part of the experiment, and of its report.
    """

    sizes: Sequence[int] = ()
    overlays: Sequence[str] = ()
    """Their kinds, or their names in tables."""
    synchronizations: Sequence[str] = ()

    def _named(self) -> Iterator[tuple[str, Sequence[Any], Callable[[Point], Sequence[Any]]]]:
        """Each option with its members, and those of a point."""
        for option, of in _MEMBERS.items():
            if named := getattr(self, option):
                yield f"--{option}", named, of

    def takes(self, point: Point) -> bool:
        """Whether a point is selected."""
        return all(set(named) & set(of(point)) for _, named, of in self._named())

    @property
    def text(self) -> str:
        """As it is written on the command line."""
        return " ".join(f"{option} {','.join(map(str, own))}" for option, own, _ in self._named())

    def check(self, experiment: Experiment) -> None:
        """Raises ExperimentError if a member that is named is none of the experiment's."""
        for option, named, of in self._named():
            known = dict.fromkeys(m for point in experiment.points() for m in of(point))
            for member in named:
                if member not in known:
                    raise ExperimentError(
                        f"{option}: {member} is none of the experiment's: choose of "
                        f"{', '.join(map(str, known))}, or add it to a copy of the file"
                    )


EVERYTHING = Selection()
