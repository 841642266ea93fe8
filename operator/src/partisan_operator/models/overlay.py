"""The overlay: a tagged union whose `kind` says which member holds its parameters."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field

from partisan_operator.models.base import Resource, Rule, rules
from partisan_operator.models.quantities import Duration


class OverlayKind(StrEnum):
    """The overlays that a node can run."""

    FULL_MESH = "FullMesh"
    CLIENT_SERVER = "ClientServer"
    HY_PAR_VIEW = "HyParView"


class HyParView(Resource):
    """Parameters of HyParView: partial views that heal, for clusters of any size.

    The defaults are those of the published deployment of 1,024 nodes.
    """

    model_config = ConfigDict(
        json_schema_extra=rules(
            Rule(
                "self.activeMin <= self.activeMax",
                "activeMin must not exceed activeMax: lower activeMin or raise activeMax",
                ".activeMin",
            ),
            Rule(
                "self.passiveRandomWalkLength <= self.activeRandomWalkLength",
                "passiveRandomWalkLength must not exceed activeRandomWalkLength: a join walks"
                " activeRandomWalkLength hops in all",
                ".passiveRandomWalkLength",
            ),
        )
    )

    active_max: Annotated[int, Field(ge=2, le=64)] = 6
    """Most neighbours that a node keeps connections to."""

    active_min: Annotated[int, Field(ge=1, le=64)] = 3
    """Fewest neighbours: a node with fewer promotes passive ones at once."""

    passive_max: Annotated[int, Field(ge=1, le=512)] = 30
    """Most names that a node remembers as replacements for failed neighbours."""

    active_random_walk_length: Annotated[int, Field(ge=1, le=32)] = 6
    """Hops that the announcement of a joining node travels."""

    passive_random_walk_length: Annotated[int, Field(ge=1, le=32)] = 3
    """The hop at which a travelling announcement enters a passive view."""

    shuffle_interval: Duration = "10s"
    """Time between two exchanges of passive views with a random node."""

    promotion_interval: Duration = "5s"
    """Time between two attempts to fill an active view that is not full."""


class ClientServer(Resource):
    """Parameters of client-server: clients connect to servers, servers to each other."""

    servers: Annotated[int, Field(ge=1, le=64)] = 1
    """Number of servers: the nodes with the lowest ordinals. At most `spec.replicas`."""


class FullMesh(Resource):
    """Parameters of the full mesh: every node connects to every other node."""

    allow_large: bool = False
    """Allows more than 256 nodes. A mesh of N nodes holds N*(N-1)/2 links, each with the
    connections of every channel."""


def _only_with(member: str, kind: OverlayKind) -> Rule:
    return Rule(
        f"!has(self.{member}) || self.kind == '{kind}'",
        f"{member} may only be set when kind is {kind}: remove {member} or change kind",
        f".{member}",
    )


class Overlay(Resource):
    """How the nodes connect. `kind` says which one of the members may be set."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            _only_with("hyParView", OverlayKind.HY_PAR_VIEW),
            _only_with("clientServer", OverlayKind.CLIENT_SERVER),
            _only_with("fullMesh", OverlayKind.FULL_MESH),
            Rule(
                "self.kind == oldSelf.kind",
                "kind cannot change while the cluster exists, for nodes of different overlays"
                " cannot talk to each other: create another PartisanCluster",
                ".kind",
            ),
        )
    )

    kind: OverlayKind = OverlayKind.HY_PAR_VIEW
    """The overlay: FullMesh, ClientServer or HyParView."""

    hy_par_view: HyParView | None = None
    """Parameters of HyParView; absent means the defaults."""

    client_server: ClientServer | None = None
    """Parameters of ClientServer; absent means the defaults."""

    full_mesh: FullMesh | None = None
    """Parameters of FullMesh; absent means the defaults."""

    @property
    def servers(self) -> int:
        """Number of servers: 0 unless the overlay is client-server."""
        if self.kind is not OverlayKind.CLIENT_SERVER:
            return 0
        return (self.client_server or ClientServer()).servers
