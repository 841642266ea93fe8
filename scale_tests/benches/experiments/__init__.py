"""The published evaluation of the ad counter, on a real cluster.

`python -m scale_tests experiments run FILE` runs it.

`experiment` reads the matrix of cells (YAML), `selection` restricts it to a part, and `store` keeps
the cells that are done. `runner` runs the others, with `progress`: `cell` takes one cluster from
apply to complete removal, `course` observes it, `collect` and `figures` read its nodes and the
control plane. `checks` compares cells with their targets, `published` and `simulated` hold results
for comparison, and `report` shows all in `tables` and `pictures`, with the cells that were
`not_run` and the circumstances of the others (`provenance`).
"""
