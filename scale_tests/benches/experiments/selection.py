"""The part of an experiment's matrix that one run goes through."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scale_tests.benches.experiments.experiment import Experiment, ExperimentError, Point

Members = Mapping[str, Sequence[int | str]]
"""Sizes, overlays and synchronizations, by the options that name them."""


def _of(point: Point) -> Members:
    return {
        "--sizes": (point.nodes,),
        "--overlays": (point.overlay.kind, point.overlay.name),
        "--synchronizations": (point.synchronization,),
    }


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The points that have one of the members that are named; where none is, all of them.

    The others remain part of the experiment, and of its report.
    """

    sizes: Sequence[int] = ()
    overlays: Sequence[str] = ()
    """Their kinds, or their names in tables."""
    synchronizations: Sequence[str] = ()

    @property
    def _named(self) -> Members:
        return {
            "--sizes": self.sizes,
            "--overlays": self.overlays,
            "--synchronizations": self.synchronizations,
        }

    def takes(self, point: Point) -> bool:
        """Whether a point is selected."""
        own = _of(point)
        return all(
            not named or not set(named).isdisjoint(own[option])
            for option, named in self._named.items()
        )

    @property
    def text(self) -> str:
        """As it is written on the command line."""
        named = self._named.items()
        return " ".join(f"{option} {','.join(map(str, own))}" for option, own in named if own)

    def check(self, experiment: Experiment) -> None:
        """Raises ExperimentError if a member that is named is none of the experiment's."""
        for option, named in self._named.items():
            known = dict.fromkeys(m for point in experiment.points() for m in _of(point)[option])
            for member in named:
                if member not in known:
                    raise ExperimentError(
                        f"{option}: {member} is none of the experiment's: choose of "
                        f"{', '.join(map(str, known))}, or add it to a copy of the file"
                    )


EVERYTHING = Selection()
