"""The version of a release, which all parts share: the `version` of the chart.

`python -m images.release version VERSION` writes it to all places, and a test holds that they
agree. The runtime's applications and the operator's package need it where their tools look for it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scale_tests.host.commands import ROOT, ExpectedError

FORM = r"\d+\.\d+\.\d+"


class ReleaseError(ExpectedError):
    """A release cannot be made; the message names the reason and the fix."""


@dataclass(frozen=True)
class Place:
    """Files with the version, and where in them it is."""

    files: str
    """A glob from the root of the repository."""

    before: str
    """A pattern of the text before the version."""

    after: str

    def found(self, root: Path) -> Iterator[tuple[Path, list[str]]]:
        """The files, each with the versions in it."""
        for path in sorted(root.glob(self.files)):
            yield path, [str(match[2]) for match in self._pattern.finditer(path.read_text())]

    def write(self, root: Path, version: str) -> None:
        """Writes a version into the files."""
        for path in sorted(root.glob(self.files)):
            text = self._pattern.sub(rf"\g<1>{version}\g<3>", path.read_text())
            path.write_text(text)

    @property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(rf"({self.before})({FORM})({self.after})", re.MULTILINE)


CHART = Place("charts/partisan-operator/Chart.yaml", "^version: ", "$")

PLACES = (
    CHART,
    Place("charts/partisan-operator/Chart.yaml", '^appVersion: "', '"$'),
    Place("operator/src/partisan_operator/__init__.py", '^__version__ = "', '"$'),
    Place("erlang_node/apps/*/src/*.app.src", r'\{vsn, "', '"'),
    Place(
        "examples/gitops/argocd.yaml", "^    chart: partisan-operator\n    targetRevision: ", "$"
    ),
    Place("examples/gitops/flux.yaml", r"^  ref: \{tag: ", r"\}$"),
    Place("erlang_node/rebar.config", r'\{release, \{partisan_node, "', '"'),
)


def version(root: Path = ROOT) -> str:
    """The version of this checkout."""
    ((_, (found,)),) = CHART.found(root)
    return found


def versions(root: Path = ROOT) -> dict[str, list[str]]:
    """The versions in all places: by place and file."""
    return {
        f"{path.relative_to(root)}: {place.before}": found
        for place in PLACES
        for path, found in place.found(root)
    }


def write(new: str, root: Path = ROOT) -> None:
    """Makes a version that of all parts. Raises ReleaseError for one of another form."""
    if not re.fullmatch(FORM, new):
        raise ReleaseError(f"VERSION is {new!r}, and must have the form 1.2.3")
    for place in PLACES:
        place.write(root, new)
