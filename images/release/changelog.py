"""CHANGELOG.md in the form of Keep a Changelog, and the notes of a release from it."""

import re
from collections.abc import Iterator

from images.release.plan import Plan
from images.release.version import FORM, ReleaseError
from scale_tests.host.commands import ROOT

CHANGELOG = ROOT / "CHANGELOG.md"
UNRELEASED = "Unreleased"
KINDS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")

_SECTION = re.compile(rf"\[({UNRELEASED}|{FORM})\](?: - \d{{4}}-\d\d-\d\d)?")


def sections(text: str) -> dict[str, str]:
    """The changes by version, the latest first."""
    found = {}
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        name = _SECTION.fullmatch(heading)
        found[name[1] if name else heading] = body.strip()
    return found


def findings(text: str) -> Iterator[str]:
    """Where the form differs from Keep a Changelog."""
    found = sections(text)
    names = list(found)
    first, *others = re.findall(r"^## (.*)$", text, re.MULTILINE)
    if first != f"[{UNRELEASED}]":
        yield f"the first section must be [{UNRELEASED}]"
    for heading in others:
        if not re.fullmatch(rf"\[{FORM}\] - \d{{4}}-\d\d-\d\d", heading):
            yield f"{heading!r} has not the form [1.2.3] - 2026-12-31"
    numbers = [tuple(map(int, re.findall(r"\d+", name))) for name in names[1:]]
    if numbers != sorted(set(numbers), reverse=True):
        yield "the versions must be in falling order"
    for name, body in found.items():
        kinds = re.findall(r"^### (.*)$", body, re.MULTILINE)
        if unknown := [kind for kind in kinds if kind not in KINDS]:
            yield f"{name}: {', '.join(unknown)} is none of {', '.join(KINDS)}"
        if len(set(kinds)) < len(kinds):
            yield f"{name} has a kind of change twice"
        if re.search(r"^### .*\s*(?=^### |\Z)", body, re.MULTILINE):
            yield f"{name} has a kind of change without changes"


def notes(text: str, version: str) -> str:
    """The changes of a version, or those that are not released yet. Raises ReleaseError: none."""
    found = sections(text)
    changes = found.get(version) or found.get(UNRELEASED)
    if not changes:
        raise ReleaseError(f"CHANGELOG.md has no changes of {version}")
    return changes


def write_notes(plan: Plan) -> None:
    """Writes the notes of a release. Raises ReleaseError."""
    changes = notes(CHANGELOG.read_text(), plan.version)
    plan.file("NOTES.md").write_text(f"# Partisan on Kubernetes {plan.version}\n\n{changes}\n")
