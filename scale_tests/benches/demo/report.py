"""The result directory of a run: config, samples, summary, pictures; and `demo.json`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from scale_tests.benches.demo import pictures
from scale_tests.benches.demo.result import Result, checks, compute
from scale_tests.benches.demo.sample import Sample
from scale_tests.cluster.environment import Environment
from scale_tests.cluster.kube import Cluster, Json
from scale_tests.host.commands import relative
from scale_tests.host.units import size
from scale_tests.measure import document as documents
from scale_tests.measure import versions
from scale_tests.measure.checks import Check
from scale_tests.measure.document import RESULTS
from scale_tests.measure.page import (
    Page,
    Picture,
    Section,
    Table,
    bars_table,
    hardware,
    listed,
    markdown,
)


@dataclass(frozen=True, kw_only=True)
class Report:
    """The files that were written, and whether the run met its targets."""

    directory: Path
    result: Result
    checks: list[Check]

    @property
    def ok(self) -> bool:
        """Whether all targets are met."""
        return all(check.ok for check in self.checks)


def write(
    environment: Environment,
    cluster: Cluster,
    manifest: Json,
    samples: Sequence[Sample],
    started: datetime,
) -> Report:
    """Writes everything about a run, finished or not, of which there is at least one sample."""
    found = versions.of_cluster(cluster, samples[-1].nodes)
    result = compute(samples, found)
    checked = checks(result, samples[-1].nodes)
    directory = RESULTS / f"demo-{started:%Y%m%d-%H%M%S}"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "cluster.yaml").write_text(yaml.safe_dump(manifest, sort_keys=False))
    with (directory / "samples.jsonl").open("w") as file:
        for sample in samples:
            file.write(json.dumps(asdict(sample)) + "\n")
    measured = documents.document(
        "demo",
        started=started,
        versions=found,
        cells=[{"seconds": s.seconds, **_cell(s)} for s in samples],
        checks=checked,
        local_cluster=environment.local,
        config=manifest,
        directory=str(relative(directory)),
    ) | {"result": asdict(result)}
    documents.write(measured, directory)
    documents.write(measured)
    pictures.draw(samples, directory, subtitle(manifest, found))
    page = summary(manifest, measured, result, checked, directory)
    (directory / "README.md").write_text(markdown(page, directory))
    return Report(directory=directory, result=result, checks=checked)


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


def figures(result: Result) -> Table:
    """The result as a table."""

    def after(elapsed: float | None) -> str:
        return "not reached" if elapsed is None else f"{elapsed:.1f} s"

    rows = [
        ("nodes ready", f"{result.ready} of {result.nodes}"),
        ("nodes joined", f"{result.joined} of {result.nodes}"),
        ("components of the overlay", str(result.components)),
        ("every replica converged", "yes" if result.converged else "no"),
        ("impressions", f"{result.value} (threshold {result.threshold})"),
        ("increments made by the nodes", str(result.increments_sum)),
        ("increments lost with killed nodes", str(result.lost_increments)),
        ("overcounting", f"{result.overcounting_percent:.2f} %"),
        ("apply to ready", after(result.seconds.apply_to_ready)),
        ("apply to joined", after(result.seconds.apply_to_joined)),
        ("apply to converged", after(result.seconds.apply_to_converged)),
        ("CRDT payload sent", size(result.sync_payload_bytes)),
        ("memory of the Erlang VM per node", size(result.memory_bytes_per_node)),
        *(
            (
                f"channel {name}",
                f"{totals.messages:,} messages, {size(totals.bytes)}, {totals.dropped:,} dropped",
            )
            for name, totals in result.channels.items()
        ),
    ]
    return Table(head=("", ""), rows=rows)


def summary(
    manifest: Json,
    document: dict[str, Any],
    result: Result,
    checked: Sequence[Check],
    directory: Path,
) -> Page:
    """The page of the result directory, in which the pictures are."""
    meta = document["meta"]
    circumstances = f"{hardware(meta['machine'])}. {listed(meta['versions'])}."
    files = (
        "`cluster.yaml` is the manifest, `samples.jsonl` has one observation a line, `demo.json` "
        "all figures."
    )
    drawn = [
        Picture(title=picture.title, file=directory / f"{picture.name}.png")
        for picture in pictures.PICTURES
    ]
    return Page(
        title=f"Run of cluster `{manifest['metadata']['name']}`, {meta['started']}",
        sections=[
            Section(text=[circumstances], parts=[figures(result), bars_table(checked), *drawn]),
            Section(text=[files, "Again: `make demo`."]),
        ],
    )


def _cell(sample: Sample) -> dict[str, Any]:
    low, high = sample.values
    return {
        "created": sample.pods.created,
        "ready": sample.pods.ready,
        "joined": sample.joined,
        "components": sample.cluster.components,
        "converged": sample.converged,
        "value_min": low,
        "value_max": high,
    }
