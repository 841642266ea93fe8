"""`python -m scale_tests formation [EXPERIMENT ...]`: measures how clusters form and fail.

Prints tables, writes build/results/formation.json, a page and a picture; ends with 1 when a target
is missed. `QUICK=1` takes fewer and smaller runs and says so in the result.
"""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from scale_tests.benches.formation import report
from scale_tests.cluster.fleet import Fleet, Plan, build_release, fleet, name
from scale_tests.cluster.views import Views, components, links, one_sided
from scale_tests.cluster.wait import StalledError
from scale_tests.host.commands import capture
from scale_tests.measure import drawing, versions
from scale_tests.measure.bench import Bench, Cell, Session, names_of

EXPERIMENTS = ("formation", "mesh", "lanes", "failures")
STALL_SECONDS = 60.0
_FAILURE_NODES = 8
_VICTIM = 7


def measure(session: Session) -> int:
    """Runs the experiments that are named, or all."""
    lab = Lab(release=build_release(), say=session.say)
    quick, chosen = session.quick, session.options.names or EXPERIMENTS
    runs = 2 if quick else 3
    cells: list[Cell] = []
    if "formation" in chosen:
        cells += formation(lab, nodes=32 if quick else 64, runs=2 if quick else 20)
    if "mesh" in chosen:
        sizes = [4, 8, 16] if quick else [4, 8, 12, 16, 24, 32, 48, 64]
        cells += mesh(lab, sizes=sizes)
    if "lanes" in chosen:
        cells += lanes(lab, parallelism=16, runs=runs)
    if "failures" in chosen:
        cells += failures(lab, runs=runs)
    return session.conclude(
        cells, versions=versions.of_machine(lab.otp), config={"experiments": list(chosen)}
    )


@dataclass(frozen=True, kw_only=True)
class Lab:
    """The release and the output of every experiment."""

    release: Path
    say: Callable[[str], None]
    otp: set[str] = field(default_factory=set)
    """The OTP releases that the measured nodes have reported."""

    @contextmanager
    def fleet(self, plan: Plan) -> Iterator[Fleet]:
        """A fleet, all of whose nodes are started at once."""
        with fleet(plan, self.release) as nodes:
            for index in range(plan.nodes):
                nodes.start(index)
            yield nodes
            self.otp.update(nodes.otp())


def formation(lab: Lab, *, nodes: int, runs: int) -> list[Cell]:
    """All nodes start at once over one seed: do they become one component of symmetric links?"""
    cells = []
    for run in range(runs):
        views, cell = _form(lab, Plan(nodes=nodes), lambda views: _is_whole(views, nodes))
        cell |= {
            "experiment": "formation",
            "overlay": "hyparview",
            "run": run,
            "components": len(components(views)) + nodes - len(views),
            "one_sided": len(one_sided(views)),
        }
        lab.say(
            f"formation {run + 1} of {runs}: {cell['components']} component(s), "
            f"{cell['one_sided']} one-sided, {cell['seconds']:.1f} s"
        )
        cells.append(cell)
    return cells


def mesh(lab: Lab, *, sizes: list[int]) -> list[Cell]:
    """Full meshes of growing size, started at once: processor time against links."""
    cells = []
    for nodes in sizes:
        wanted = nodes * (nodes - 1) // 2
        _, cell = _form(lab, Plan(nodes=nodes, overlay="{full_mesh, #{}}"), _mesh_of(wanted))
        cell |= {"experiment": "mesh", "overlay": "full_mesh"}
        lab.say(
            f"full mesh of {nodes}: {cell['links']} of {wanted} links, {cell['seconds']:.1f} s, "
            f"{cell['cpu_seconds']:.1f} s of processor time"
        )
        cells.append(cell)
    return cells


def _form(lab: Lab, plan: Plan, done: Callable[[Views], bool]) -> tuple[Views, Cell]:
    """The views of a fleet that has formed, or has stopped forming, and what that took."""
    began = time.monotonic()
    with lab.fleet(plan) as started:
        views, whole = _await(started, done)
        return views, {
            "nodes": plan.nodes,
            "whole": whole,
            "links": links(views),
            "seconds": time.monotonic() - began,
            "cpu_seconds": started.cpu_seconds(),
        }


def lanes(lab: Lab, *, parallelism: int, runs: int) -> list[Cell]:
    """Two nodes with many lanes between them: from the first send to all lanes connected."""
    cells = []
    for run in range(runs):
        script = ["escript", "erlang_node/scripts/lanes.escript"]
        taken, otp = capture([*script, str(lab.release), str(parallelism)]).split()
        lab.otp.add(otp)
        seconds = int(taken) / 1000
        cells.append(
            {"experiment": "lanes", "parallelism": parallelism, "run": run, "seconds": seconds}
        )
        lab.say(f"{parallelism} lanes, {run + 1} of {runs}: all up after {seconds:.2f} s")
    return cells


def failures(lab: Lab, *, runs: int) -> list[Cell]:
    """One of eight nodes is killed, or frozen: from then until no node lists it as a neighbour."""
    cells = []
    for kind, number in (("killed", signal.SIGKILL), ("frozen", signal.SIGSTOP)):
        for run in range(runs):
            with lab.fleet(Plan(nodes=_FAILURE_NODES)) as nodes:
                _await(nodes, lambda views: _is_whole(views, _FAILURE_NODES))
                process = nodes.processes.pop(_VICTIM)
                try:
                    process.send_signal(number)
                    began = time.monotonic()
                    _await(
                        nodes,
                        lambda views: all(name(_VICTIM) not in view for view in views.values()),
                        period_seconds=0.02,
                    )
                    seconds = time.monotonic() - began
                finally:
                    nodes.processes[_VICTIM] = process
            cells.append({"experiment": "failure", "failure": kind, "run": run, "seconds": seconds})
            lab.say(f"a {kind} node, {run + 1} of {runs}: noticed by all after {seconds:.2f} s")
    return cells


def _await(
    nodes: Fleet, done: Callable[[Views], bool], *, period_seconds: float = 0.25
) -> tuple[Views, bool]:
    """The views once they are as wanted, or when nothing has moved for long; and which of both."""
    try:
        views = nodes.await_views(done, stall_seconds=STALL_SECONDS, period_seconds=period_seconds)
        return views, True
    except StalledError:
        return nodes.views(), False


def _is_whole(views: Views, nodes: int) -> bool:
    return len(views) == nodes and len(components(views)) == 1 and not one_sided(views)


def _mesh_of(wanted: int) -> Callable[[Views], bool]:
    return lambda views: links(views) == wanted and not one_sided(views)


BENCH = Bench(
    name="formation",
    about=__doc__,
    measure=measure,
    report=report,
    draw=partial(drawing.draw, [report.PICTURE]),
    options=[names_of("EXPERIMENT", EXPERIMENTS)],
)
