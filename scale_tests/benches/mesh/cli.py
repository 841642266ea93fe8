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
from scale_tests.benches.mesh.systems import PERIODS, SYSTEMS, System
from scale_tests.cluster.fleet import MOST_NODES, build_release
from scale_tests.measure import drawing, versions
from scale_tests.measure.bench import Bench, Cell, Session, names_of, nodes_from, option
from scale_tests.measure.spread import having

SIZES, QUICK_SIZES = (512, 1024), (8, 16)
NAMES = [system.slug for system in SYSTEMS]
TICK_SECONDS, QUICK_TICK_SECONDS = 15.0, 2.0
"""A tick of Distributed Erlang: a quarter of `net_ticktime`."""

SECONDS_PER_NODE = 0.5
"""Of start, formation and end on two processors, as estimated."""


def measure(session: Session) -> int:
    """Measures the systems that are named, or all."""
    sizes = sorted(session.options.nodes or (QUICK_SIZES if session.quick else SIZES))
    tick = QUICK_TICK_SECONDS if session.quick else TICK_SECONDS
    wanted = session.options.names or NAMES
    kept = {s: _in_order(own, sizes) for s, own in _kept(session).items() if s.slug in wanted}
    left = [nodes for done in kept.values() for nodes in remaining(done, sizes)]
    seconds = sum(nodes * SECONDS_PER_NODE + run.TICKS * tick for nodes in left)
    session.say(
        f"{len(left)} cells of {len(kept)} systems are left, at most: about "
        f"{seconds / 60:.0f} minutes on 2 processors. "
        "A system that does not hold a size gets no larger one."
    )
    if session.options.plan:
        return 0
    if left:
        _measure_left(session, kept, sizes, tick)
    # Also of systems and sizes that were not asked for this time.
    cells = [cell for own in _kept(session).values() for _, cell in sorted(own.items())]
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


def _kept(session: Session) -> dict[System, dict[int | None, Cell]]:
    """The cells that are done, by system and size; also those of a document that is continued."""
    published = session.published()
    return {
        system: {
            int(cell["nodes"]): cell
            for cell in (
                *having(published, system=system.name, overlay=system.overlay),
                *session.kept_like(_slug(session, system, "*")),
            )
        }
        for system in SYSTEMS
    }


def _in_order(kept: Mapping[int | None, Cell], sizes: Sequence[int]) -> list[Cell]:
    """The cells of a system that are done, in the order in which they are measured."""
    done: list[Cell] = []
    while (nodes := next_size(done, sizes)) in kept:
        done.append(kept[nodes])
    return done


def next_size(done: Sequence[Cell], sizes: Sequence[int]) -> int | None:
    """The size to measure after these: larger until one is not held, then one half-way."""
    sizes_held = [int(cell["nodes"]) for cell in done if cell["held"]]
    if len(sizes_held) == len(done):
        return sizes[len(done)] if len(done) < len(sizes) else None
    # The half-way size is the last one, whatever comes of it.
    *_, last = done
    if last["held"] or any(not cell["held"] for cell in done[:-1]):
        return None
    return (max(sizes_held, default=0) + int(last["nodes"])) // 2


def remaining(done: Sequence[Cell], sizes: Sequence[int]) -> list[int]:
    """The sizes left to measure after these if all of them are held."""
    if all(cell["held"] for cell in done):
        return list(sizes[len(done) :])
    half_way = next_size(done, sizes)
    return [] if half_way is None else [half_way]


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
