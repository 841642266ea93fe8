"""Figures of a cluster, from simulations of it or of smaller ones."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from partisan_operator.models import PartisanCluster
from partisan_operator.predict import figures, memory
from partisan_operator.predict.figures import OVERLAY, PAYLOAD, Figures
from partisan_operator.predict.scenario import (
    Assumptions,
    Course,
    Scenario,
    counter_of,
    counting_seconds,
    course,
)
from partisan_operator.predict.simulator import Progress, Simulator

BUDGET_SECONDS = 60.0
"""Approximate CPU seconds of a prediction, at most."""

TIMEOUT_SECONDS = 600.0
"""Seconds after which a simulation is aborted."""

START_SECONDS = 1.0
"""Seconds from when the overlay is connected until the run starts: the operator's interval."""


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """The behaviour and costs of a cluster.

    Sums are over all nodes, from the first one's start until the run has converged; without a
    workload, until a minute after the overlay is whole.
    """

    nodes: int
    overlay: str
    synchronization: str | None
    assumptions: Assumptions

    simulated_nodes: tuple[int, ...]
    """The sizes of the clusters whose runs were simulated."""

    simulated_share: float
    """The simulated part of the run; the rest is assumed to be like its second half."""

    join_seconds_median: float
    """From a node's start to its first neighbour."""
    join_seconds_most: float
    whole_seconds: float
    """From the last node's start until the overlay is one component."""
    degree_mean: float
    degree_least: int
    degree_most: int

    counting_seconds: float | None
    """How long each node counts, by its interval."""
    seconds_to_converge: float | None
    """From there until every node knows that all have finished, with equal replicas."""
    overcounting_percent: float | None

    bytes_payload: float
    """Counters, or parts of them, once for each neighbour that receives them."""
    channels: Mapping[str, figures.Channel]
    forming_bytes_payload: float
    """The part of the payload before the run starts."""
    forming_bytes_frames: float
    overlay_bytes_per_second: float
    """Of all nodes, once the overlay is whole."""
    memory_bytes_per_node: float
    """Modelled, not simulated: see `memory`."""

    @property
    def extrapolated(self) -> bool:
        """Whether the run is predicted from smaller clusters."""
        return self.simulated_nodes != (self.nodes,)

    @property
    def seconds_running(self) -> float | None:
        """From the start of the run until it has converged."""
        if self.counting_seconds is None or self.seconds_to_converge is None:
            return None
        return self.counting_seconds + self.seconds_to_converge

    @property
    def bytes_frames(self) -> float:
        """All messages as they are written to connections, with lengths and addresses."""
        return sum(channel.bytes for channel in self.channels.values())

    def json(self) -> dict[str, Any]:
        """Return all figures, marked as simulated."""
        return {
            "simulated": True,
            **asdict(self),
            "extrapolated": self.extrapolated,
            "seconds_running": self.seconds_running,
            "bytes_frames": self.bytes_frames,
        }


def predict(
    cluster: PartisanCluster,
    simulator: Simulator,
    assumptions: Assumptions | None = None,
    *,
    budget: float = BUDGET_SECONDS,
    timeout: float = TIMEOUT_SECONDS,
    progress: Progress = lambda line: None,
) -> Prediction:
    """Predict the behaviour and costs of a cluster.

    `budget` is in CPU seconds: if a simulation of the cluster would need more, smaller ones are
    simulated. `timeout` is in seconds, for each simulation. `progress` is called with lines.

    Raises `simulator.SimulatorError`.
    """
    assumed = assumptions or Assumptions()
    wanted = course(cluster, assumed, budget=budget)

    def simulate(scenario: Scenario) -> dict[str, Any]:
        what = f"{scenario.nodes} nodes" + (", overlay alone" if scenario == wanted.overlay else "")
        return simulator.run(
            scenario.config,
            scenario.arguments(assumed),
            timeout=timeout,
            progress=lambda line: progress(f"{what}: {line}"),
        )

    overlay = simulate(wanted.overlay) if wanted.overlay else None
    return combined(cluster, assumed, wanted, overlay, [simulate(each) for each in wanted.runs])


def combined(
    cluster: PartisanCluster,
    assumptions: Assumptions,
    wanted: Course,
    overlay: Mapping[str, Any] | None,
    results: Sequence[Mapping[str, Any]],
) -> Prediction:
    """Return the prediction from simulations in the order of `wanted`."""
    nodes, sizes = cluster.spec.replicas, [run.nodes for run in wanted.runs]
    whole = overlay or results[-1]
    counting = counting_seconds(cluster) if counter_of(cluster) else None
    tail = None
    if counting is not None:
        tails = [_tail(run, found) for run, found in zip(wanted.runs, results, strict=True)]
        tail = figures.along_logarithm(sizes, tails, nodes)
    phases = [
        figures.by_power(sizes, phase, nodes)
        for phase in zip(*map(_phases, wanted.runs, results), strict=True)
    ]
    rate = _overlay_rate(whole)
    if overlay is not None:
        # The overlay was simulated at full size: smaller clusters do not matter for it.
        formed = figures.flat(overlay["moments"]["whole"])
        lasting = START_SECONDS + (counting or 0.0) + (tail or 0.0)
        phases = [
            {name: value for name, value in phase.items() if name not in rate} for phase in phases
        ]
        phases[0] |= {name: formed[name] + START_SECONDS * rate[name] for name in rate}
        phases[1] |= {name: (lasting - START_SECONDS) * rate[name] for name in rate}
    total = figures.total(phases)
    replicas = [found.get("run", {}).get("replica_bytes", 0.0) for found in results]
    return Prediction(
        nodes=nodes,
        overlay=cluster.spec.overlay.kind.value,
        synchronization=_synchronization(cluster),
        assumptions=assumptions,
        simulated_nodes=tuple(sizes),
        simulated_share=_share(wanted.runs[-1]),
        join_seconds_median=whole["join_seconds_median"],
        join_seconds_most=whole["join_seconds_most"],
        whole_seconds=whole["whole_seconds"],
        degree_mean=whole["degree_mean"],
        degree_least=whole["degree_least"],
        degree_most=whole["degree_most"],
        counting_seconds=counting,
        seconds_to_converge=tail,
        overcounting_percent=_overcounting(wanted.runs[-1], results[-1], cluster),
        bytes_payload=total[PAYLOAD],
        channels=figures.channels(total),
        forming_bytes_payload=phases[0][PAYLOAD],
        forming_bytes_frames=sum(each.bytes for each in figures.channels(phases[0]).values()),
        overlay_bytes_per_second=rate[f"{OVERLAY}.bytes"],
        memory_bytes_per_node=memory.bytes_per_node(
            cluster,
            degree=whole["degree_mean"],
            replica_bytes=figures.power(sizes, replicas, nodes),
        ),
    )


def _phases(scenario: Scenario, result: Mapping[str, Any]) -> list[Figures]:
    """Return the traffic of the phases: forming, counting, and converging."""
    moments = {name: figures.flat(moment) for name, moment in result["moments"].items()}
    if "rested" in moments:
        return [moments["whole"], figures.difference(moments["rested"], moments["whole"])]
    counting = figures.difference(moments["counted"], moments["started"])
    if scenario.warm_seconds:
        later = figures.difference(moments["counted"], moments["warm"])
        share = scenario.missing_seconds / _seconds_between(result, "warm", "counted")
        counting = figures.total([counting, {name: share * later[name] for name in later}])
    return [
        moments["started"],
        counting,
        figures.difference(moments["finished"], moments["counted"]),
    ]


def _tail(scenario: Scenario, result: Mapping[str, Any]) -> float:
    """Return the seconds from the end of counting until the run is over.

    Not negative: a fast node may count for a slow one.
    """
    return float(max(0.0, result["run"]["running_seconds"] - counting_seconds(scenario.cluster)))


def _overlay_rate(result: Mapping[str, Any]) -> Figures:
    """Return the traffic per second of the connected overlay."""
    last = "rested" if "rested" in result["moments"] else "finished"
    sent = figures.difference(
        figures.flat(result["moments"][last]), figures.flat(result["moments"]["whole"])
    )
    seconds = _seconds_between(result, "whole", last)
    return {name: value / seconds for name, value in sent.items() if name.startswith(f"{OVERLAY}.")}


def _seconds_between(result: Mapping[str, Any], before: str, after: str) -> float:
    moments = result["moments"]
    return float(moments[after]["at_seconds"] - moments[before]["at_seconds"])


def _share(scenario: Scenario) -> float:
    simulated = counting_seconds(scenario.cluster)
    return simulated / (simulated + scenario.missing_seconds) if simulated else 1.0


def _overcounting(
    scenario: Scenario, result: Mapping[str, Any], cluster: PartisanCluster
) -> float | None:
    """Return the overcounting in percent of the whole run's threshold.

    It happens at the end, however long the run is.
    """
    counter, simulated = counter_of(cluster), counter_of(scenario.cluster)
    if counter is None or simulated is None:
        return None
    beyond = max(0, result["run"]["value"] - result["run"]["threshold"])
    each = beyond / scenario.nodes * cluster.spec.replicas
    return float(100 * each / (counter.ads * counter.impressions))


def _synchronization(cluster: PartisanCluster) -> str | None:
    workload = cluster.spec.workload
    return workload.mode.value if workload and workload.ad_counter else None
