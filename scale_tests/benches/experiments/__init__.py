"""The published evaluation of the ad counter, on a real cluster.

`python -m scale_tests experiments run FILE` runs it.

`experiment` reads the matrix of cells (YAML), `selection` restricts it to a part, and `store` keeps
the cells that are done. `runner` runs the others: `cell` takes one cluster from apply to complete
removal, `course` observes it, `collect` reads its nodes and the control plane. `checks` compares
cells with their targets, `comparison` has published and simulated results, and `report` shows all
in `tables` and `pictures`, with the circumstances of the cells (`provenance`).
"""
