"""`python -m scale_tests churn [run] --nodes N`: injects faults into a cluster that counts.

Applies a PartisanCluster, kills a tenth, a third and half of its nodes at once, churns it, cuts its
network in two, and waits after each for one component and an exact count. Prints a table, writes
JSON, pictures and a page into the directory of `--out` (build/results/churn); ends with 1 when a
target is missed. `QUICK=1`: 16 nodes and shorter faults. `python -m scale_tests churn heal` removes
the rules of a killed run from this machine's packet filter.
"""

from dataclasses import asdict, replace
from datetime import UTC, datetime

from scale_tests.benches.churn import timeline
from scale_tests.benches.churn.faults import FaultError, Faults
from scale_tests.benches.churn.report import Report
from scale_tests.benches.churn.scenario import Runner, Scenario
from scale_tests.cluster import environment as environments
from scale_tests.cluster import operator
from scale_tests.cluster.capacity import capacity, shortage
from scale_tests.cluster.kube import Cluster
from scale_tests.cluster.must_gather import explain
from scale_tests.cluster.removal import remove_cluster, start_over
from scale_tests.cluster.sampler import Sampler
from scale_tests.cluster.subject import Subject
from scale_tests.cluster.wait import StalledError
from scale_tests.host.commands import ROOT, ExpectedError
from scale_tests.localkube import partition
from scale_tests.measure import versions
from scale_tests.measure.bench import Bench, Session, nodes_from, option

NAMESPACE = "partisan-churn"
NAME = "churn"
MUST_GATHER = ROOT / "build" / "must-gather" / "churn"


def _run(session: Session) -> int:
    if session.options.command == "heal":
        partition.heal()
        return 0
    wanted = session.options
    scenario = Scenario(
        nodes=wanted.nodes or (16 if session.quick else 64),
        seed=wanted.seed,
        synchronization=wanted.synchronization,
    )
    if session.quick:
        scenario = replace(scenario, churn_seconds=45, partition_seconds=30, calm_seconds=10)
    environment = environments.bring_up()
    if not environment.local:
        session.say("No partition: the network of a cluster of KUBECONFIG cannot be cut from here.")
        scenario = replace(scenario, partition_seconds=0)
    cluster = Cluster(environment.kubeconfig)
    room = capacity(cluster, besides=NAMESPACE)
    if scenario.nodes > room.free:
        raise ExpectedError(shortage(environment, room, scenario.nodes))
    operator.install(environment)
    start_over(cluster, NAMESPACE, NAME)
    subject = Subject(environment, cluster, NAMESPACE, NAME).apply(scenario.manifest(NAME))
    session = replace(session, started=datetime.now(UTC))
    sampler = Sampler(timeline.sampling(subject))
    faults = Faults(subject, seed=scenario.seed)
    runner, last = Runner(scenario=scenario, faults=faults, sampler=sampler, say=session.say), None
    with sampler:
        try:
            last = runner.run()
        except (StalledError, FaultError) as error:
            # What a cluster that does not recover has shown is kept.
            session.console.print(f"\n[bold red]{error}[/bold red]", highlight=False)
            explain(session.console, cluster, NAMESPACE, NAME, MUST_GATHER)
    if not sampler.samples:
        return 1
    recording = Report(
        scenario=scenario,
        phases=runner.phases,
        samples=sampler.samples,
        last=last,
        versions=versions.of_cluster(cluster, sampler.last.nodes),
    )
    status = session.reported(recording).conclude(
        recording.cells(),
        versions=recording.versions,
        local_cluster=environment.local,
        config=asdict(scenario) | {"cluster": scenario.manifest(NAME)},
        seed=scenario.seed,
        looks_without_answer=sampler.missed,
    )
    remove_cluster(cluster, NAMESPACE, NAME)
    return status


BENCH = Bench(
    name="churn",
    about=__doc__,
    measure=_run,
    options=(
        option("command", nargs="?", choices=("run", "heal"), default="run"),
        option(
            "--nodes", type=nodes_from(4, 1024), help="how many pods, 4 to 1024 (64; QUICK=1: 16)"
        ),
        option("--seed", type=int, default=1, help="the same seed kills the same pods"),
        option(
            "--synchronization", choices=("State", "Delta", "Tree"), default="Delta", metavar="MODE"
        ),
    ),
    quick="shorter faults",
    interrupted=f": the cluster {NAMESPACE}/{NAME} is left as it is.",
)
