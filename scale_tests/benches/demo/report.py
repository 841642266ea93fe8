"""The result directory of a run: config, samples, summary, pictures; and `demo.json`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from scale_tests.benches.demo import pictures
from scale_tests.benches.demo.result import checks, compute
from scale_tests.benches.demo.sample import Sample
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, Json
from scale_tests.host.commands import relative
from scale_tests.host.documents import data_of
from scale_tests.host.units import size
from scale_tests.measure import drawing, versions
from scale_tests.measure.bench import Session
from scale_tests.measure.checks import Check
from scale_tests.measure.document import RESULTS
from scale_tests.measure.page import Picture, Table
from scale_tests.measure.tables import forms


@dataclass(frozen=True, kw_only=True)
class Report:
    """A run, finished or not, with at least one sample; the report of its benchmark."""

    manifest: Json
    samples: Sequence[Sample]
    versions: dict[str, str]

    @cached_property
    def result(self) -> dict[str, Any]:
        """The outcome of the run."""
        return compute(self.samples, self.versions)

    def checks(self, _cells: Sequence[Any]) -> list[Check]:
        """The targets."""
        return checks(self.result, self.samples[-1].nodes)

    def tables(self, _cells: Sequence[Any]) -> dict[str, Table]:
        """The result."""
        return {f"Cluster {self.manifest['metadata']['name']}": figures(self.result)}

    def draw(self, _cells: Sequence[Any], directory: Path) -> list[Picture]:
        """Every picture."""
        note = subtitle(self.manifest, self.versions)
        return drawing.draw(pictures.PICTURES, self.samples, directory, note=note)

    def text(self, _meta: Mapping[str, Any], _cells: Sequence[Any]) -> list[str]:
        """Paragraphs for the page of a run."""
        return [
            "`cluster.yaml` is the manifest, `samples.jsonl` has one observation a line, "
            "`demo.json` all figures. Again: `make demo`."
        ]


def conclude(
    session: Session,
    environment: Environment,
    cluster: Cluster,
    manifest: Json,
    samples: Sequence[Sample],
) -> int:
    """Writes and shows all of a run; returns the exit status."""
    found = versions.of_cluster(cluster, samples[-1].nodes)
    directory = session.options.out or RESULTS / f"demo-{session.started:%Y%m%d-%H%M%S}"
    session.options.out = directory
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "cluster.yaml").write_text(yaml.safe_dump(manifest, sort_keys=False))
    lines = [json.dumps(asdict(sample)) + "\n" for sample in samples]
    (directory / "samples.jsonl").write_text("".join(lines))
    run = Report(manifest=manifest, samples=samples, versions=found)
    return session.reported(run).conclude(
        [_cell(sample) for sample in samples],
        versions=found,
        whole={"result": run.result},
        local_cluster=environment.local,
        config=manifest,
        directory=str(relative(directory)),
    )


def subtitle(manifest: Json, found: dict[str, str]) -> str:
    """The config and the versions in one line, for the pictures."""
    spec = manifest["spec"]
    counter = spec.get("workload", {}).get("adCounter", {})
    return (
        f"{spec['replicas']} nodes, {spec['overlay']['kind']}, increment "
        f"{counter.get('incrementInterval', '-')}, propagation "
        f"{counter.get('propagationInterval', '-')} · Kubernetes {found['kubernetes']}, "
        f"OTP {found.get('otp', '-')}, partisan {found.get('source', '-')}"
    )


def figures(result: Mapping[str, Any]) -> Table:
    """The result as a table."""
    shown = {
        **result,
        **result["seconds"],
        "every_converged": "yes" if result["converged"] else "no",
        "payload": size(result["sync_payload_bytes"]),
        "memory": size(result["memory_bytes_per_node"]),
    }
    rows = [(title, text(shown)) for title, text in forms(data_of(__file__)).items()]
    counts = "{messages:,} messages, {size}, {dropped:,} dropped"
    for name, sent in result["channels"].items():
        rows.append((f"channel {name}", counts.format(size=size(sent["bytes"]), **sent)))
    return Table(head=("", ""), rows=rows)


def _cell(sample: Sample) -> dict[str, Any]:
    return {
        "seconds": sample.seconds,
        "created": sample.pods.created,
        "ready": sample.pods.ready,
        "joined": sample.joined,
        "components": sample.cluster.components,
        "converged": sample.converged,
        "value_min": sample.values[0],
        "value_max": sample.values[1],
    }
