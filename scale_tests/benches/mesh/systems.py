"""The systems under comparison."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Template

from scale_tests.cluster.fleet import hints, name
from scale_tests.cluster.views import Views, components, links, one_sided
from scale_tests.host.documents import data_of

_DATA = data_of(__file__)
PERIODS: Mapping[str, str] = _DATA["periods"]
"""Parameters of overlays with longer periods than by default."""


@dataclass(frozen=True, kw_only=True, eq=False)
class System:
    """A messaging system on one overlay. `flags` are None for ours."""

    name: str
    overlay: str
    parameters: str | None = None
    """Those of our overlay, with names for what depends on the nodes; None: those of `PERIODS`."""
    servers: int = 0
    flags: Sequence[str] | None = None
    contacts: str = "seed"
    """The nodes that a node of Distributed Erlang connects to: the `seed`, or all `lower` ones."""

    @property
    def slug(self) -> str:
        """Names it on the command line and in files."""
        return f"{self.name}-{self.overlay}"

    def configured(self, nodes: int) -> str:
        """The overlay in the configuration of so many nodes, which Distributed Erlang ignores."""
        if self.flags is not None:
            return "{full_mesh, #{}}"
        parameters = Template(self.parameters or PERIODS.get(self.overlay, "#{}")).substitute(
            servers=", ".join(f'<<"{name(index)}">>' for index in range(self.servers)),
            ring=", ".join(f"{{{index}, {(index + 1) % nodes}}}" for index in range(nodes)),
            peers=hints(range(nodes)),
        )
        return f"{{{self.overlay}, {parameters}}}"

    def is_whole(self, views: Views, nodes: int) -> bool:
        """Whether it has formed: a mesh when every node lists all others, else one component."""
        if len(views) < nodes:
            return False
        if "mesh" in self.overlay:
            return links(views) == nodes * (nodes - 1) // 2 and not one_sided(views)
        return len(components(views)) == 1


SYSTEMS = [System(**system) for system in _DATA["systems"]]
