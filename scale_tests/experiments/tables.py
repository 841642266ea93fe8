"""The tables of a report. Each states the time-compression of what it shows."""

from __future__ import annotations

from collections.abc import Sequence

from scale_tests.experiments import published, simulated
from scale_tests.experiments.experiment import Experiment
from scale_tests.experiments.result import Result
from scale_tests.results.page import Table
from scale_tests.results.units import GIB, MIB, seconds
from scale_tests.simulate import synchronization
from scale_tests.simulate.synchronization import Row


def speed(experiment: Experiment) -> str:
    """The time-compression, as each table and caption states it."""
    return "Real time." if experiment.is_real_time else f"Speedup {experiment.speedup_text()}."


def less(experiment: Experiment) -> str:
    """What to know where one way to synchronise does less than the others."""
    if "Aggregate" not in experiment.synchronizations:
        return ""
    return "Aggregate carries less information: nodes learn the sums, not each other's counts. "


def transmission(
    experiment: Experiment, results: Sequence[Result], rows_simulated: Sequence[Row]
) -> Table:
    """What was sent, counted three ways, beside what is published and the least."""
    comparable = experiment.ad_counter.increments == published.INCREMENTS
    rows = []
    for cell in _sorted(experiment, results):
        value = published.transmission(cell.overlay, cell.synchronization, cell.nodes)
        payload = cell.bytes_payload / GIB
        rows.append(
            [
                *_key(cell),
                f"{payload:.4g}",
                f"{value:g}" if value and comparable else "",
                f"{value / payload:.1f}" if value and comparable and payload else "",
                f"{synchronization.least(cell.nodes):.2g}" if comparable else "",
                f"{cell.bytes_frames / GIB:.4g}",
                "-" if cell.bytes_tcp is None else f"{cell.bytes_tcp / GIB:.4g}",
                f"{cell.bytes_payload / cell.nodes / MIB:.3g}",
                "yes" if cell.converged else "NO",
            ]
        )
    for row in rows_simulated if comparable else ():
        rows.append(
            [
                simulated.OVERLAY,
                row.mode.capitalize(),
                f"{row.nodes:,}",
                "simulated",
                f"{row.payload:.4g}",
                "" if row.published is None else f"{row.published:g}",
                "" if row.published is None else f"{row.published / row.payload:.1f}",
                f"{synchronization.least(row.nodes):.2g}",
                f"{row.frames:.4g}",
                "",
                f"{row.payload * 1024 / row.nodes:.3g}",
                "yes",
            ]
        )
    return Table(
        caption="Transmission of all nodes in GiB, counted three ways; the least is what the "
        f"final counts once to every node take. {less(experiment)}{speed(experiment)}",
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
        rows=rows,
    )


def times(experiment: Experiment, results: Sequence[Result]) -> Table:
    """From the apply to the end."""
    return Table(
        caption="Seconds. Ready and joined are from the apply, joined is one connected component; "
        "converging begins where counting ends by its interval. "
        f"{speed(experiment)}",
        head=(
            "overlay",
            "synchronization",
            "nodes",
            "trial",
            "ready",
            "joined",
            "running",
            "converging",
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
        f"was run. {speed(experiment)}",
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
        f"plane, the operator and what is watching them. {speed(experiment)}",
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


def _key(cell: Result) -> list[str]:
    return [cell.overlay, cell.synchronization, f"{cell.nodes:,}", str(cell.trial)]
