"""The manifests that users copy: those of the examples and of the documents."""

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from docs.tools.snippets import PAGES, blocks
from scale_tests.cluster.kube import Json
from scale_tests.cluster.subject import manifest
from scale_tests.host.commands import ROOT

_MANIFEST = re.compile(r"^apiVersion: partisan.*?(?=^[A-Z]+$|^---$|\Z)", re.MULTILINE | re.DOTALL)


def examples() -> Iterator[tuple[Path, Json]]:
    """The manifests of PartisanClusters in examples/."""
    for file in sorted(ROOT.glob("examples/**/*.yaml")):
        yield from ((file, body) for body in _clusters(file.read_text()))


def published() -> Iterator[tuple[Path, Json]]:
    """The manifests of PartisanClusters in examples/ and in the documents."""
    yield from examples()
    for page in PAGES:
        for block in blocks(page, "yaml", "sh"):
            for text in re.findall(_MANIFEST, block.text):
                yield from ((page, body) for body in _clusters(text))
            if block.language == "yaml":
                yield from ((page, body) for body in _completed(block.text))


def _completed(text: str) -> Iterator[Json]:
    """Manifests around the fields of a spec that a page shows alone."""
    for body in yaml.safe_load_all(text.replace("REGISTRY", "registry.example")):
        if isinstance(body, dict) and body.keys().isdisjoint({"kind", "status"}):
            whole = manifest("shown", 3, workload=None)
            whole["spec"] |= body.get("spec", body)
            yield whole


def _clusters(text: str) -> Iterator[Json]:
    try:
        bodies = list(yaml.safe_load_all(text))
    except yaml.YAMLError:
        return  # the overview of all fields, which is no manifest
    for body in bodies:
        if isinstance(body, dict) and body.get("kind") == "PartisanCluster":
            yield body
