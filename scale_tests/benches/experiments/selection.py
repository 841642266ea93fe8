"""What one run does of an experiment's matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scale_tests.benches.experiments.experiment import Experiment, ExperimentError, Point


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The points that have one of the members that are named; where none is, all of them.

    What is not selected is part of the experiment nevertheless, and of its report.
    """

    sizes: Sequence[int] = ()
    overlays: Sequence[str] = ()
    """Their kinds, or what tables call them."""
    synchronizations: Sequence[str] = ()

    def takes(self, point: Point) -> bool:
        """Whether a point is selected."""
        overlay = {point.overlay.kind, point.overlay.name}
        return (
            (not self.sizes or point.nodes in self.sizes)
            and (not self.overlays or not overlay.isdisjoint(self.overlays))
            and (not self.synchronizations or point.synchronization in self.synchronizations)
        )

    @property
    def text(self) -> str:
        """As it is written on the command line."""
        named = {
            "--sizes": self.sizes,
            "--overlays": self.overlays,
            "--synchronizations": self.synchronizations,
        }
        return " ".join(
            f"{option} {','.join(map(str, members))}"
            for option, members in named.items()
            if members
        )

    def check(self, experiment: Experiment) -> None:
        """Raises ExperimentError if a member that is named is none of the experiment's."""
        overlays = experiment.overlays
        known: tuple[tuple[str, Sequence[int | str], Sequence[int | str]], ...] = (
            ("--sizes", self.sizes, experiment.sizes),
            (
                "--overlays",
                self.overlays,
                [name for overlay in overlays for name in (overlay.kind, overlay.name)],
            ),
            ("--synchronizations", self.synchronizations, experiment.synchronizations),
        )
        for option, named, members in known:
            for member in named:
                if member not in members:
                    choices = ", ".join(map(str, dict.fromkeys(members)))
                    raise ExperimentError(
                        f"{option}: {member} is none of the experiment's: choose of {choices}, or "
                        "add it to a copy of the file"
                    )


EVERYTHING = Selection()
