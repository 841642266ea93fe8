"""The cells of a run that are done, from which it resumes, and why others are left out."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from scale_tests.benches.experiments.experiment import Point
from scale_tests.host.commands import ExpectedError
from scale_tests.measure.bench import Session
from scale_tests.measure.cells import Result, result


def find(session: Session, point: Point) -> Result | None:
    """The cell of a point, if it is done.

    Raises ExpectedError where it was made by another configuration, or cannot be read.
    """
    file = session.file(point.slug)
    try:
        kept = session.kept(point.slug)
        found = None if kept is None else result(kept)
    except (KeyError, TypeError, ValueError) as error:
        raise ExpectedError(
            f"{file} cannot be read ({error}): remove it to run it again"
        ) from error
    if found is not None and found.config != point.manifest():
        raise ExpectedError(
            f"{file} is of another configuration than the experiment has now: choose another "
            "directory with --out, or remove the file to run it again"
        )
    return found


def results(session: Session, points: Iterable[Point]) -> dict[str, Result]:
    """The cells of those points that are done, by the points' slugs. Raises ExpectedError."""
    return {point.slug: found for point in points if (found := find(session, point))}


def left_out(session: Session) -> dict[str, str]:
    """Reasons why points were not run, by their slugs. Raises ExpectedError."""
    file = _reasons(session)
    try:
        return dict(json.loads(file.read_text()))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ExpectedError(f"{file} cannot be read ({error}): remove it") from error


def save_left_out(session: Session, reasons: Mapping[str, str]) -> None:
    """Keeps why points were not run."""
    write_changed(_reasons(session), json.dumps(reasons, indent=1) + "\n")


def write_changed(file: Path, text: str) -> None:
    """Writes a file, unless it has this text: one under version control would count as changed."""
    if not file.exists() or file.read_text() != text:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def _reasons(session: Session) -> Path:
    return session.directory / "left-out.json"
