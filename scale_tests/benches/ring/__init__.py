"""Services on a ring, and the published microbenchmark, over three systems: `make bench-ring`.

`plan` orders the cells, `cli` runs those that are not done, `report` and `pictures` present.
"""
