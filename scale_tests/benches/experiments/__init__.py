"""The published evaluation of the ad counter, on a real cluster.

`python -m scale_tests experiments run FILE` runs it.

`experiment` reads the matrix of cells (YAML), `selection` restricts it to a part, and `store` keeps
the cells that are done. `runner` goes through the rest, with `progress`: `cell` takes one cluster
from apply to nothing left, `course` observes it, `collect` and `figures` read its nodes and the
control plane. `checks` compares cells with their targets, `published` and `simulated` are what
stands next to them, and `report` shows all, in `tables` and `pictures`: also what was `not_run`,
and the circumstances of the rest (`provenance`).
"""
