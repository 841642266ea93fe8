"""The result of a run: figures from the last sample and the cluster's own times, and directory."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from scale_tests.benches.demo import pictures
from scale_tests.benches.demo.sample import Sample, sent_bytes
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, Json
from scale_tests.cluster.nodes import components
from scale_tests.cluster.partisan import milestones
from scale_tests.host.commands import relative
from scale_tests.host.documents import data_of
from scale_tests.host.units import size
from scale_tests.measure import drawing, versions
from scale_tests.measure.bench import Session
from scale_tests.measure.checks import Check, equal
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
        """The outcome of the run, in the names of `demo.json`."""
        status, nodes = self.samples[-1].cluster, self.samples[-1].nodes
        run = status.workload
        return {
            "nodes": status.replicas_wanted,
            "ready": status.ready,
            "joined": status.joined,
            "components": status.components,
            "converged": status.converged == "True",
            "value": run.value,
            "increments_sum": run.increments_sum,
            "threshold": run.threshold,
            "overcounting_percent": run.overcounting_percent,
            "lost_increments": run.lost_increments,
            "replaced_nodes": run.replaced_nodes,
            "seconds": milestones(status.timings),
            "channels": _channels(self.samples),
            "sync_payload_bytes": sum(node.sync_payload_bytes for node in nodes),
            "memory_bytes_per_node": sum(node.memory_bytes for node in nodes) // max(1, len(nodes)),
            "versions": dict(self.versions),
        }

    def checks(self, _cells: Sequence[Any]) -> list[Check]:
        """The targets. Those about nodes take the nodes' own reports, not the operator's."""
        result, nodes = self.result, self.samples[-1].nodes
        wanted, value, made = (result[key] for key in ("nodes", "value", "increments_sum"))
        values = {node.value for node in nodes}
        islands = components(nodes)
        accounted = value + result["lost_increments"]
        return [
            equal("ready", result["ready"], wanted),
            equal("joined", result["joined"], wanted),
            Check(
                name="components of the nodes' own views",
                value=islands,
                bar="= 1",
                ok=islands == 1 and len(nodes) == wanted,
            ),
            equal("converged", result["converged"], True),
            Check(
                name="different values among the replicas",
                value=len(values),
                bar=f"= 1, the value {value}",
                ok=values == {value} and len({node.digest for node in nodes}) == 1,
            ),
            Check(
                name="value + lost increments",
                value=accounted,
                bar=f"= increments that the nodes made, {made}",
                ok=accounted == made,
            ),
            Check(
                name="value",
                value=value,
                bar=f">= threshold {result['threshold']}",
                ok=value >= result["threshold"] > 0,
            ),
        ]

    def tables(self, _cells: Sequence[Any]) -> dict[str, Table]:
        """The result."""
        result = self.result
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
        return {f"Cluster {self.manifest['metadata']['name']}": Table(head=("", ""), rows=rows)}

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


def _channels(samples: Sequence[Sample]) -> dict[str, dict[str, int]]:
    """Sent on each channel by all nodes: bytes of all incarnations, the rest of those that run."""
    found = {}
    for channel, line in sorted(sent_bytes(samples).items()):
        own = [c for node in samples[-1].nodes for name, c in node.channels if name == channel]
        found[channel] = {
            "messages": sum(counters.sent_messages for counters in own),
            "bytes": int(line[-1][1]),
            "dropped": sum(counters.dropped for counters in own),
        }
    return found
