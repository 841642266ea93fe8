"""When the run of the workload starts."""

from collections.abc import Iterator, Mapping

from partisan_operator.children import naming
from partisan_operator.children.node_config import run_id
from partisan_operator.decide.actions import StartRun
from partisan_operator.models import PartisanCluster
from partisan_operator.observe.observation import Observation
from partisan_operator.observe.report import NodeReport, workload_reports


def start(cluster: PartisanCluster, observation: Observation) -> Iterator[StartRun]:
    """Start the run once the overlay is complete and one component."""
    run = run_id(cluster.spec.workload)
    expected = naming.pod_names(cluster.name, cluster.spec.replicas)
    if not run or not should_start(run, expected, observation.reports(expected)):
        return
    if observation.graph(cluster).components == 1:
        candidates = tuple(
            observation.endpoints[name] for name in expected if name in observation.endpoints
        )
        yield StartRun(run, candidates)


def should_start(run: str, expected: tuple[str, ...], reports: Mapping[str, NodeReport]) -> bool:
    """Whether every node has joined the overlay and waits for the run."""
    parts = workload_reports(reports, run)
    return len(parts) == len(expected) and all(
        part.phase == "waiting" and reports[pod].overlay.joined for pod, part in parts.items()
    )
