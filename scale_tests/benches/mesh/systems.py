"""The systems under comparison."""

from collections.abc import Callable
from dataclasses import dataclass

from scale_tests.cluster.fleet import hints, name
from scale_tests.cluster.views import Views, components, links, one_sided

PERIODS = {
    "xbot": "#{optimisation_interval => 60000}",
    "cyclon": "#{shuffle_interval => 60000}",
    **dict.fromkeys(("scamp_v1", "scamp_v2", "hiscamp"), "#{heartbeat_interval => 15000}"),
}
"""Parameters of overlays whose work at rest does not fit on one machine with the defaults.

Each node of X-BOT and of Cyclon connects to others once a period, by default 10 s.
"""


@dataclass(frozen=True, kw_only=True)
class System:
    """A messaging system on one overlay. `flags` are None for ours."""

    name: str
    overlay: str
    parameters: Callable[[int], str] | None = None
    """Those of our overlay, for so many nodes; None for Distributed Erlang."""
    servers: int = 0
    flags: tuple[str, ...] | None = None
    contacts: str = "seed"
    """The nodes that a node of Distributed Erlang connects to: the `seed`, or all `lower` ones."""

    @property
    def slug(self) -> str:
        """Names it on the command line and in files."""
        return f"{self.name}-{self.overlay}"

    def is_whole(self, views: Views, nodes: int) -> bool:
        """Whether it has formed: a mesh when every node lists all others, else one component."""
        if len(views) < nodes:
            return False
        if "mesh" in self.overlay:
            return links(views) == nodes * (nodes - 1) // 2 and not one_sided(views)
        return len(components(views)) == 1


def _ours(kind: str, parameters: str | None = None, servers: int = 0) -> System:
    given = parameters or PERIODS.get(kind, "#{}")
    return System(name="ours", overlay=kind, parameters=lambda _: given, servers=servers)


def _ring(nodes: int) -> str:
    """Edges from each node to the next, and everyone's address."""
    edges = ", ".join(f"{{{index}, {(index + 1) % nodes}}}" for index in range(nodes))
    return f"#{{edges => [{edges}], peers => [{hints(range(nodes))}]}}"


def _names(count: int) -> str:
    """The first nodes, in a list of our configuration."""
    return ", ".join(f'<<"{name(index)}">>' for index in range(count))


SYSTEMS = (
    System(name="disterl-stock", overlay="mesh", flags=()),
    System(
        name="disterl-tuned",
        overlay="mesh",
        # Every pair connects by itself: global does not lock names at each new node.
        flags=("-connect_all", "false", "-kernel", "prevent_overlapping_partitions", "false"),
        contacts="lower",
    ),
    _ours("full_mesh"),
    _ours("client_server", f"#{{servers => [{_names(1)}]}}", servers=1),
    _ours("publish_subscribe", f"#{{brokers => [{_names(3)}]}}", servers=3),
    _ours("hyparview"),
    _ours("xbot"),
    _ours("cyclon"),
    _ours("scamp_v1"),
    _ours("scamp_v2"),
    _ours("hiscamp"),
    System(name="ours", overlay="static", parameters=_ring),
)
