"""The tables of a report. Each states the time-compression of what it shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from scale_tests.benches.experiments import published, simulated
from scale_tests.benches.experiments.experiment import Experiment
from scale_tests.benches.experiments.provenance import speed
from scale_tests.benches.experiments.simulated import Simulated
from scale_tests.host.units import GIB, MIB, seconds
from scale_tests.measure import synchronization
from scale_tests.measure.cells import Result
from scale_tests.measure.page import Table


def less(cells: Iterable[Result | Simulated]) -> str:
    """What to know where one way to synchronise does less than the others."""
    if all(cell.synchronization != "Aggregate" for cell in cells):
        return ""
    return "Aggregate carries less information: nodes learn the sums, not each other's counts. "


def transmission(
    experiment: Experiment, results: Sequence[Result], rows: Sequence[Simulated]
) -> Table:
    """What was sent, counted three ways, beside what is published, simulated, and the least."""
    comparable = published.is_repeated_by(experiment.ad_counter)
    shown: list[Result | Simulated] = [*_sorted(experiment, results), *rows]
    return Table(
        caption="Transmission of all nodes in GiB, counted three ways; the least is what the "
        f"final counts once to every node take. {less(shown)}{speed(results)}"
        f"{simulated.note(rows)}",
        head=(
            "overlay",
            "synchronization",
            "nodes",
            "trial",
            "payload",
            "published",
            "published / ours",
            "least",
            "frames",
            "TCP",
            "payload per node, MiB",
            "converged",
        ),
        rows=[[*_key(cell), *_transmitted(cell, comparable=comparable)] for cell in shown],
    )


def _transmitted(cell: Result | Simulated, *, comparable: bool) -> list[str]:
    payload = cell.bytes_payload / GIB
    value = published.transmission(cell.overlay, cell.synchronization, cell.nodes)
    beside = value if comparable else None
    return [
        f"{payload:.4g}",
        f"{beside:g}" if beside else "",
        f"{beside / payload:.1f}" if beside and payload else "",
        f"{synchronization.least(cell.nodes):.2g}" if comparable else "",
        f"{cell.bytes_frames / GIB:.4g}",
        "-" if cell.bytes_tcp is None else f"{cell.bytes_tcp / GIB:.4g}",
        f"{cell.bytes_payload / cell.nodes / MIB:.3g}",
        "yes" if cell.converged else "NO",
    ]


def times(experiment: Experiment, results: Sequence[Result]) -> Table:
    """From the apply to the end."""
    return Table(
        caption="Seconds. Ready and joined are from the apply, joined is one connected component; "
        "converging begins where counting ends by its interval. Intervals are those of "
        "propagation. "
        f"{speed(results)}",
        head=(
            "overlay",
            "synchronization",
            "nodes",
            "trial",
            "ready",
            "joined",
            "running",
            "converging",
            "converging, intervals",
            "running / counting",
            "overcounting, %",
            "deleting",
            "whole cell",
        ),
        rows=[
            [
                *_key(cell),
                seconds(cell.seconds_to_ready),
                seconds(cell.seconds_to_joined),
                seconds(cell.seconds_running),
                seconds(cell.seconds_to_converge),
                seconds(cell.intervals_to_converge),
                "-" if cell.slowdown is None else f"{cell.slowdown:.2f}",
                f"{cell.overcounting_percent:.2f}",
                seconds(cell.seconds_to_delete),
                seconds(cell.seconds_in_all),
            ]
            for cell in _sorted(experiment, results)
        ],
    )


def resources(experiment: Experiment, results: Sequence[Result]) -> Table:
    """What nodes and the control plane took."""
    return Table(
        caption="Memory and processor time: of a node, and of the control plane while the cell "
        f"was run. {speed(results)}",
        head=(
            "overlay",
            "synchronization",
            "nodes",
            "trial",
            "memory per node, MiB",
            "which",
            "CPU per node, s",
            "mean degree",
            "control plane, MiB",
            "control plane, CPU s",
            "machine busy before, %",
            "restarts",
        ),
        rows=[
            [
                *_key(cell),
                f"{cell.memory_bytes_per_node / MIB:.1f}",
                cell.memory_kind,
                f"{cell.cpu_seconds_per_node:.2f}",
                f"{cell.mean_degree:.2f}",
                f"{sum(part.memory_bytes for part in cell.control_plane) / MIB:.0f}",
                f"{sum(part.cpu_seconds for part in cell.control_plane):.1f}",
                "-" if cell.busy_before is None else f"{100 * cell.busy_before:.0f}",
                str(cell.restarts),
            ]
            for cell in _sorted(experiment, results)
        ],
    )


def rest(experiment: Experiment, results: Sequence[Result]) -> list[Table]:
    """The machine with a cluster at rest on it; no table where no cell was watched."""
    rows = [
        [
            *_key(cell),
            f"{100 * cell.at_rest.busy:.0f}",
            f"{cell.at_rest.memory_bytes / GIB:.1f}",
            f"{cell.at_rest.swapped_bytes / GIB:.1f}",
            f"{cell.at_rest.seconds:.0f}",
        ]
        for cell in _sorted(experiment, results)
        if cell.at_rest is not None
    ]
    table = Table(
        caption="The whole machine with the cluster at rest, its run ended: pods, the control "
        f"plane, the operator and what is watching them. {speed(results)}",
        head=(
            "overlay",
            "synchronization",
            "nodes",
            "trial",
            "processors busy, %",
            "memory in use, GiB",
            "swapped out, GiB",
            "watched for, s",
        ),
        rows=rows,
    )
    return [table] if rows else []


def _sorted(experiment: Experiment, results: Sequence[Result]) -> list[Result]:
    """As tables show them: along the sizes."""
    overlays = [overlay.name for overlay in experiment.overlays]
    modes = experiment.synchronizations
    return sorted(
        results,
        key=lambda cell: (
            overlays.index(cell.overlay),
            modes.index(cell.synchronization),
            cell.nodes,
            cell.trial,
        ),
    )


def _key(cell: Result | Simulated) -> list[str]:
    trial = cell.label if isinstance(cell, Simulated) else str(cell.trial)
    return [cell.overlay, cell.synchronization, f"{cell.nodes:,}", trial]
