"""`python -m scale_tests mesh [SYSTEM ...]`: measures how large a cluster gets.

Prints tables, writes build/results/bench-mesh.json, a page and a picture of all cells that are
done; these are not repeated, nor are those of a document in DIRECTORY: `--out docs/results/mesh`
continues the published one. `--plan` prints how long it takes and measures nothing. `--nodes`
takes other sizes; `QUICK=1` takes two small ones, and says so in the result. Needs root for the
memory of nodes. Our nodes send heartbeats as often as those of Distributed Erlang their ticks, or
rarer if they have many peers; X-BOT, Cyclon and the SCAMPs have longer periods than by default.
"""

from collections.abc import Mapping, Sequence
from functools import partial

from scale_tests import otp
from scale_tests.benches.mesh import report, run
from scale_tests.benches.mesh.sizes import next_size, remaining, seconds
from scale_tests.benches.mesh.systems import PERIODS, SYSTEMS, System
from scale_tests.cluster.fleet import MOST_NODES, build_release
from scale_tests.measure import drawing, versions
from scale_tests.measure.bench import Bench, Cell, Session, names_of, nodes_from, option

SIZES, QUICK_SIZES = (512, 1024), (8, 16)
NAMES = [system.slug for system in SYSTEMS]
TICK_SECONDS, QUICK_TICK_SECONDS = 15.0, 2.0
"""A tick of Distributed Erlang: a quarter of `net_ticktime`."""


def measure(session: Session) -> int:
    """Measures the systems that are named, or all."""
    sizes = sorted(session.options.nodes or (QUICK_SIZES if session.quick else SIZES))
    tick = QUICK_TICK_SECONDS if session.quick else TICK_SECONDS
    wanted = session.options.names or NAMES
    published = session.published()
    kept = {s: _kept(session, s, sizes, published) for s in SYSTEMS if s.slug in wanted}
    left = [nodes for done in kept.values() for nodes in remaining(done, sizes)]
    session.say(
        f"{len(left)} cells of {len(kept)} systems are left, at most: about "
        f"{sum(seconds(nodes, tick) for nodes in left) / 60:.0f} minutes on 2 processors. "
        "A system that does not hold a size gets no larger one."
    )
    if session.options.plan:
        return 0
    if left:
        _measure_left(session, kept, sizes, tick)
    cells = _all_kept(session, published)
    return session.conclude(
        cells,
        versions=versions.of_machine({cell["otp"] for cell in cells if cell["otp"]}),
        config={"tick_seconds": tick, "periods": PERIODS},
    )


def _measure_left(
    session: Session, kept: Mapping[System, list[Cell]], sizes: Sequence[int], tick: float
) -> None:
    release = build_release()
    otp.compile_runtime()
    for system, done in kept.items():
        while (nodes := next_size(done, sizes)) is not None:
            cell = run.measure(system, release, nodes, tick)
            done.append(session.keep(_slug(session, system, nodes), cell))
            outcome = f"held for {cell['held_s']:.0f} s" if cell["held"] else cell["ended_by"]
            session.say(f"{system.slug}, {nodes} nodes: {outcome}")


def _kept(
    session: Session, system: System, sizes: Sequence[int], published: Sequence[Cell]
) -> list[Cell]:
    """The cells of a system that are done, in their order."""
    done: list[Cell] = []
    by_size = _by_size(session, system, published)
    while (nodes := next_size(done, sizes)) in by_size:
        done.append(by_size[nodes])
    return done


def _all_kept(session: Session, published: Sequence[Cell]) -> list[Cell]:
    """All cells that are done, also of systems and sizes that were not asked for this time."""
    return [
        cell
        for system in SYSTEMS
        for _, cell in sorted(_by_size(session, system, published).items())
    ]


def _by_size(session: Session, system: System, published: Sequence[Cell]) -> dict[int | None, Cell]:
    """The cells of a system that are done, and those of the document that is continued."""
    continued = [
        cell
        for cell in published
        if (cell["system"], cell["overlay"]) == (system.name, system.overlay)
    ]
    own = session.kept_like(_slug(session, system, "*"))
    return {int(cell["nodes"]): cell for cell in (*continued, *own)}


def _slug(session: Session, system: System, nodes: int | str) -> str:
    return f"{system.slug}-{nodes}-{'quick' if session.quick else 'full'}"


BENCH = Bench(
    name="mesh",
    about=__doc__,
    document="bench-mesh",
    measure=measure,
    report=report,
    draw=partial(drawing.draw, [report.PICTURE]),
    options=(
        names_of("SYSTEM", NAMES),
        option(
            "--nodes", type=nodes_from(2, MOST_NODES), nargs="+", metavar="N", help="other sizes"
        ),
        option("--plan", action="store_true", help="print how long it takes"),
    ),
    interrupted=": the same command continues with the cells that are not done.",
)
