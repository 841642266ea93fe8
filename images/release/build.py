"""Builds all files of a release; a second time anew, to compare the digests."""

import shutil
import time
from collections.abc import Callable

from images.builder import build as builder
from images.builder.catalogue import ERLANG_NODE, OPERATOR, Image
from images.release import archive as archives
from images.release import arm64, bundle, changelog, chart, elf, oci, plugin, sbom
from images.release.plan import ARCHITECTURES, Plan, write_sums
from images.release.version import ReleaseError

IMAGES = (OPERATOR, ERLANG_NODE)


def build(plan: Plan, *, anew: bool = False) -> dict[str, float]:
    """Builds a release; `anew` uses no result of an earlier build. Returns seconds by step.

    Raises ExpectedError, ReleaseError.
    """
    shutil.rmtree(plan.directory, ignore_errors=True)
    steps: dict[str, Callable[[], object]] = {
        **{image.name: _image_step(plan, image, anew) for image in IMAGES},
        "chart": lambda: chart.package(plan),
        "manifest": lambda: chart.write_manifest(plan),
        "plugin": lambda: plugin.build(plan),
        "bundle": lambda: bundle.build(plan),
        "notes": lambda: changelog.write_notes(plan),
        "checksums": lambda: write_sums(plan.directory),
    }
    seconds = {}
    for name, step in steps.items():
        print(f"release {plan.version}: {name}", flush=True)
        began = time.monotonic()
        step()
        seconds[name] = round(time.monotonic() - began, 1)
    return seconds


def _image_step(plan: Plan, image: Image, anew: bool) -> Callable[[], None]:
    return lambda: build_image(plan, image, anew=anew)


def build_image(plan: Plan, image: Image, *, anew: bool) -> None:
    """Writes an image for all architectures, and a list of contents for each."""
    builder.build(image, anew=anew)
    (own,) = oci.read(image.archive)
    built = (own, arm64.assemble(image, own))
    path = plan.file(f"{image.name}-{plan.version}.oci.tar")
    if [each.architecture for each in built] != list(ARCHITECTURES):
        raise ReleaseError(f"{path.name} must be for {', '.join(ARCHITECTURES)}")
    for each in built:
        check_machine_code(image.name, each)
        packages = [*sbom.of_image(each), *(sbom.of_npm() if image is OPERATOR else ())]
        name = f"{image.name}-{each.architecture}"
        plan.file(f"sbom/{name}.spdx.json").write_text(sbom.document(plan, name, packages))
    oci.write(path, plan.image(image.name), built, plan.labels)


def check_machine_code(name: str, image: oci.PlatformImage) -> None:
    """Checks that all machine code of an image is of its architecture. Raises ReleaseError."""
    for layer in image.layers:
        for entry, content in archives.members(layer):
            if elf.is_elf(content) and elf.architecture(content) != image.architecture:
                raise ReleaseError(
                    f"{name} for {image.architecture}: {entry.name} is for "
                    f"{elf.architecture(content)}"
                )
