"""Exact figures of the commit protocols with four nodes and one broadcast, and upstream's."""

from __future__ import annotations

TITLES = {
    "two_phase_commit": "2PC",
    "cooperative_termination": "2PC with CTP",
    "three_phase_commit": "3PC",
}
"""The columns of the table."""

ROWS = {
    ("raw", "distinct"): "raw subsets",
    ("base", "distinct"): "distinct, messages of the fault-free execution",
    ("recursive", "distinct"): "distinct, all messages",
    ("recursive", "symmetric"): "distinct up to symmetry, all messages",
}
"""Its rows, by scope and order."""

FIGURES = {
    ("two_phase_commit", "raw", "distinct"): (4_096, 56),
    ("two_phase_commit", "base", "distinct"): (53, 19),
    ("two_phase_commit", "recursive", "distinct"): (729, 19),
    ("two_phase_commit", "recursive", "symmetric"): (165, 6),
    ("cooperative_termination", "raw", "distinct"): (4_096, 0),
    ("cooperative_termination", "base", "distinct"): (53, 0),
    ("cooperative_termination", "recursive", "distinct"): (226_981, 22_074),
    ("cooperative_termination", "recursive", "symmetric"): (38_613, 3_809),
    ("three_phase_commit", "raw", "distinct"): (262_144, 0),
    ("three_phase_commit", "base", "distinct"): (79, 0),
    ("three_phase_commit", "recursive", "distinct"): (1_431, 367),
    ("three_phase_commit", "recursive", "symmetric"): (320, 75),
}
"""Executions, and those that fail, by protocol, scope and order.

Of cooperative termination the closed form has 61^3 = 226,981 executions of all messages; see
docs/verification.md for a prototype's other figure."""

MUTATED_3PC = (1_431, 19)
"""Three-phase commit whose participants wait for ever: executions, and those that fail."""

UPSTREAM = {
    "two_phase_commit": (7, 1),
    "cooperative_termination": (11, 1),
    "three_phase_commit": (25, 1),
}
"""Executions that passed and failed in upstream Partisan's own tests, with its annotations."""

PRINTED = {"quorum_kv_available": 7, "quorum_kv_strong": 7, "quorum_kv_honest": 5}
"""Models of which the authors print a counterexample, and its lines."""

EXECUTIONS_WITHIN = 100
"""Random executions in which a printed counterexample must be found."""
