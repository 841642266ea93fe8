"""Exact figures of the commit protocols with four nodes and one broadcast, and upstream's."""

from collections.abc import Mapping

from scale_tests.host.documents import data_of

_DATA = data_of(__file__)

TITLES: Mapping[str, str] = _DATA["titles"]
ROWS: Mapping[tuple[str, str], str] = {
    (scope, order): title for scope, row in _DATA["rows"].items() for order, title in row.items()
}
FIGURES: Mapping[tuple[str, str, str], tuple[int, int]] = {
    (protocol, *row): tuple(_DATA["figures"][protocol][row[0]][row[1]])
    for protocol in TITLES
    for row in ROWS
}
MUTATED_3PC: tuple[int, int] = tuple(_DATA["mutated_3pc"])
UPSTREAM: Mapping[str, tuple[int, int]] = _DATA["upstream"]
PRINTED: Mapping[str, int] = _DATA["printed"]

EXECUTIONS_WITHIN = 100
"""Random executions in which a printed counterexample must be found."""
