"""`make demo`: a bare machine, or one's own cluster, to a converged overlay of 32 nodes.

`cli` goes through the steps, `live` shows the samples, `report` has figures, targets and the
directory of a result, `pictures` draws it.
"""
