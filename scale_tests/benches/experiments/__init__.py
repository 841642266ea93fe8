"""The published evaluation of the ad counter, on a real cluster.

`python -m scale_tests experiments run FILE` runs it.

`experiment` reads what is to be run (YAML), `crd` knows what a PartisanCluster may ask for,
`selection` which cells of it a run is asked for, and `store` which are done. `runner` goes through
the rest, and `progress` tells how far it is: `cell` takes one cluster from apply to nothing left,
`collect` reads what its nodes and the control plane say, `faults` is what a cell may suffer
meanwhile. `result` is one cell's figures, `checks` hold them to their thresholds, `published` and
`simulated` are what stands beside them, and `report` shows all: what was `not_run`, under which
circumstances the rest was (`provenance`), in `tables` and `pictures` (for which `series` puts cells
in rows, and `drawing` draws them).
"""
