"""An earlier revision: its chart, and its images under a tag of their own."""

import sys
from dataclasses import replace
from pathlib import Path

from scale_tests.cluster import operator
from scale_tests.cluster.environment import Environment, load_images
from scale_tests.host import revision as revisions
from scale_tests.host.commands import ROOT, capture, stream

_DIRECTORY = ROOT / "build" / "upgrade"
_IMAGES = ("erlang-node", "operator")


def prepare(environment: Environment, revision: str) -> tuple[Environment, str]:
    """The environment with its images, and the directory of its chart. Raises CommandError."""
    commit = revisions.commit(revision)
    source = revisions.unpack(commit, _DIRECTORY)
    repository = environment.node_image.rpartition("/")[0]
    named = {name: f"{repository}/{name}:{commit}" for name in _IMAGES}
    _build(source)
    for name, reference in named.items():
        archive = source / "build" / "images" / f"{name}.tar"
        if environment.local:
            tagged = archive.with_name(f"{name}-{commit}.tar")
            if not tagged.exists():
                _copy(archive, f"oci-archive:{tagged}:{reference}")
            load_images(tagged)
        else:
            _copy(archive, f"docker://{reference}")
    images = replace(environment, node_image=named["erlang-node"], operator_image=named["operator"])
    return images, str(source / operator.CHART)


def _build(source: Path) -> None:
    """Builds the images with the revision's own builder."""
    moved = (source / "images" / "builder").is_dir()
    module = "images.builder" if moved else "scale_tests.images"
    there = ("env", f"--chdir={source}", "--unset=PYTHONPATH", sys.executable)
    stream([*there, "-m", module, "build", *_IMAGES])


def _copy(archive: Path, target: str) -> None:
    capture(["skopeo", "copy", "--quiet", f"oci-archive:{archive}", target])
